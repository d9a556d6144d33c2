// SPDX-License-Identifier: GPL-2.0-or-later
// The one way to make I/O happen. Statistics and experiments know nothing below this line, so
// that tests can put a made-up engine in its place.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "blktally/control.hpp"
#include "measure/cpus.hpp"
#include "measure/job.hpp"
#include "measure/stop.hpp"

namespace tally {

class Engine {
public:
    virtual ~Engine() = default;
    virtual std::string name() const = 0;
    // Runs the job to its end or until a stop is requested. I/O errors are counted in the result;
    // what keeps the job from running throws.
    virtual Result run(const Job &job, const Stop &stop) = 0;
};

// pread and pwrite with O_DIRECT from pinned threads.
std::unique_ptr<Engine> make_psync_engine();
// Pinned kernel threads of tally_gen that submit bios.
std::unique_ptr<Engine> make_kernel_engine(Control &control);

// A turn whose figure is wanted: taken once more when a signal that asked for no stop, such as one
// that suspends the process, cut it short.
Result run_whole(const std::function<Result()> &turn, const Stop &stop);

// Fills in what a job leaves open, one CPU per thread. Throws UsageError.
Cpus cpus_for(const Job &job);

// Which engines there are, and what each is for, for --help.
struct EngineKind {
    const char *name;
    bool needs_control;
    std::unique_ptr<Engine> (*make)(Control *control);
};
const EngineKind &engine_kind(const std::string &name); // throws UsageError
std::vector<std::string> engine_names();

} // namespace tally
