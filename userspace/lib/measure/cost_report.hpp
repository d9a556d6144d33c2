// SPDX-License-Identifier: GPL-2.0-or-later
// What I/O costs, for people and as "blktally/cost/1".
#pragma once

#include "measure/cost.hpp"
#include "measure/json.hpp"

namespace tally {

struct CostReport {
    CostSettings settings;
    std::vector<CostFigures> figures{};
    std::vector<GateFigures> gates{};
    std::vector<std::string> messages{};
    Json environment{};
    int signal = 0;
};

Json to_json(const CostReport &report);
std::string to_text(const CostReport &report);

} // namespace tally
