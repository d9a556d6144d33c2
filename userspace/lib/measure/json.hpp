// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "measure/statistics.hpp"

namespace tally {

using Json = nlohmann::ordered_json; // documents are read by people, too

// NaN and infinity have no place in JSON: null.
Json number(double value);
Json pair(const stats::Interval &interval);
// One document with its final newline; text that is not UTF-8 is replaced, never thrown at.
std::string dump(const Json &document);

} // namespace tally
