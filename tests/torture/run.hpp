// SPDX-License-Identifier: GPL-2.0-or-later
// What the threads of a run share, and what they are. Each goes on until the run is stopped.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "job.hpp"
#include "measure/random.hpp"
#include "options.hpp"
#include "report.hpp"
#include "rig.hpp"
#include "watch.hpp"

namespace tally::torture {

struct Run {
    const Options& options;
    Report& report;
    Rig& rig;
    std::vector<std::unique_ptr<Job>> jobs;
    // tally/stat of the counted devices before the first I/O of the jobs.
    std::map<const Device*, std::vector<std::uint64_t>> counted_before;
};

void flip(Run& run, Random random);          // flips.cpp: modes and profiles
void change_tables(Run& run, Random random); // tables.cpp: suspend, resume, reload
void plug(Run& run, Random random);          // hotplug.cpp: CPU 1
void view(Run& run, Random random);          // views.cpp: all that can be read
void churn(Run& run, Random random);         // churn.cpp: other devices come and go
void load(Run& run, Random random);          // load.cpp: tally_gen

constexpr unsigned load_threads = 2, load_depth = 8; // of tally_gen

// quiet.cpp: what must be so once nothing runs any more.
void check_quiet(Run& run, Control& control);

inline void nap(std::uint64_t ms) {
    Activity::mine().doing("sleep");
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    Activity::mine().doing("nothing that waits");
}

} // namespace tally::torture
