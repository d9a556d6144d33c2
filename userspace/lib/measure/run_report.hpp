// SPDX-License-Identifier: GPL-2.0-or-later
// One job's result, for people and as "blktally/run/1" with jobs shaped like fio's.
#pragma once

#include "measure/job.hpp"
#include "measure/json.hpp"

namespace tally {

struct RunReport {
    std::string engine;
    Job job;
    Result result{};
    Json environment{};
    std::vector<std::string> messages{};
    int signal = 0;
    bool partial() const { return signal != 0 || result.interrupted; }
};

Json to_json(const RunReport &report);
std::string to_text(const RunReport &report);

} // namespace tally
