// SPDX-License-Identifier: GPL-2.0-or-later
// What one I/O costs on each path through the kernel, and whether that is little enough.
#pragma once

#include <map>

#include "measure/experiment.hpp"

namespace tally {

struct CostPath {
    std::string id, about, engine;
    Arm arm;
    std::string raw;  // the path that this one is stacked on, or empty
    std::string peer; // the path whose added cost this one's is compared with, or empty
};
const std::vector<CostPath> &cost_paths();

struct CostSettings {
    std::uint64_t ios = 20000, warm_up = 2000;
    std::uint32_t repeats = 3, cpu = 0;
    std::uint64_t seed = 1;
    bool instructions = false; // a nanosecond is an instruction here
};

struct CostFigures {
    std::string id;
    std::string missing;            // why there are no figures
    double cost = 0;                // ns or instructions per I/O, median of the repeats
    double spread = 0;              // (largest - smallest) / median
    double cycles = 0, retired = 0; // per I/O from the machine's counters; NaN without
    double added = 0;               // to the raw path
    double of_peer = 0;             // of what the peer adds
};

using Engines = std::map<std::string, Engine *>;

// Until a stop is requested; paths not reached by then have a reason in `missing`.
std::vector<CostFigures> measure_cost(const CostSettings &settings,
                                      const Engines &engines,
                                      Rig &rig,
                                      const Stop &stop,
                                      const Progress &progress);

// limit = constant + factor × the figure of `path`
struct Bound {
    double constant, factor;
    const char *path;
};
struct Gate {
    const char *name, *path;
    bool added; // judges what the path adds, else its whole cost
    Bound must, strive;
};
const std::vector<Gate> &cost_gates();

enum class GateOutcome { reached, ok, over, unjudged };
const char *word(GateOutcome outcome);

struct GateFigures {
    const Gate *gate;
    double value = 0, must = 0, strive = 0;
    GateOutcome outcome = GateOutcome::unjudged;
    std::string reason{}; // of an unjudged one
};
std::vector<GateFigures> judge_cost(const std::vector<CostFigures> &figures, bool instructions);

} // namespace tally
