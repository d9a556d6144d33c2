// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/json.hpp"

#include <cmath>

namespace tally {

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json pair(const stats::Interval &interval) {
    return Json::array({number(interval.low), number(interval.high)});
}

std::string dump(const Json &document) {
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tally
