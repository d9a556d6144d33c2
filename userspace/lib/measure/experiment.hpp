// SPDX-License-Identifier: GPL-2.0-or-later
// Runs a preset in randomised blocks with one engine, and draws the conclusions. The two halves
// meet in Rounds, which holds nothing but raw figures.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>

#include "measure/cpus.hpp"
#include "measure/engine.hpp"
#include "measure/preset.hpp"
#include "measure/rig.hpp"
#include "measure/verdict.hpp"

namespace tally {

using Progress = std::function<void(const std::string &)>;

struct Settings {
    std::uint32_t rounds = 80, threads = 1;
    Cpus cpus{};                        // to run on; empty: those we may use
    std::chrono::nanoseconds slice{0};  // 0: as long as the budget allows
    std::chrono::nanoseconds budget{0}; // for this engine's rounds
    double margin = 0.02;
    std::uint64_t seed = 1;
};

// The arms in the order of every list below. The baseline comes first and, under another name,
// second: A against A. So it does with every other number of threads.
std::vector<Arm> plan_arms(const Preset &preset, const Settings &settings);

struct Series {
    Arm arm;
    std::string missing;      // why there are no figures
    std::vector<double> iops; // one per round; NaN where the turn failed or did not come
    std::uint64_t ios = 0, errors = 0;
};

struct Rounds {
    std::string engine;
    std::vector<Series> series;
    std::chrono::nanoseconds slice{0}, planned{0}, taken{0};
    std::uint32_t asked = 0, done = 0; // rounds
    bool interrupted = false;
};

Rounds run_rounds(const Preset &preset,
                  const Settings &settings,
                  Engine &engine,
                  Rig &rig,
                  const Stop &stop,
                  const Progress &progress);

struct ArmFigures {
    std::string name, missing;
    std::uint32_t threads = 0;
    double iops = 0;               // median
    double ns = 0;                 // per I/O and thread
    double variation = 0;          // of the rounds
    double drift = 0, drift_p = 0; // last third against the first; Mann-Kendall
};

// Without a ratio where `than` adds nothing that is certain.
struct AddedFigures {
    Added goal;
    double ratio = 0;
    stats::Interval interval{};
};
// "reached", "ok" or "over" when the whole interval says so, else "undecided"; "unknown" without
// a ratio.
const char *outcome(const AddedFigures &figures);

struct Findings {
    std::map<std::uint32_t, double> resolution; // from A against A, for each number of threads
    std::vector<ArmFigures> arms;
    std::vector<Judgement> of_baseline, contrasts; // Holm over both
    std::vector<AddedFigures> added;
};

Findings conclude(const Preset &preset, const Settings &settings, const Rounds &rounds);

} // namespace tally
