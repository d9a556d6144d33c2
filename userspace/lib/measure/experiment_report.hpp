// SPDX-License-Identifier: GPL-2.0-or-later
// What an experiment found, for people and as "blktally/experiment/1".
#pragma once

#include "measure/accuracy.hpp"
#include "measure/experiment.hpp"
#include "measure/json.hpp"

namespace tally {

struct EngineOutcome {
    Rounds rounds;
    Findings findings;
};

struct ExperimentReport {
    Preset preset;
    Settings settings;
    std::vector<EngineOutcome> engines{};
    std::vector<BusyFigures> busy{};
    std::vector<std::string> messages{};
    Json environment{};
    int signal = 0; // of a run that was cut short
};

Json to_json(const ExperimentReport &report);
std::string to_text(const ExperimentReport &report);

Json to_json(const Preset &preset);
std::string to_text(const Preset &preset);

} // namespace tally
