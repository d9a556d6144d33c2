// SPDX-License-Identifier: GPL-2.0-or-later
// How wrong is a busy-time model? One I/O at a time with pauses in between; the truth is the sum
// of the I/Os' own durations, taken outside the kernel, and `exact` is held to it as well.
#pragma once

#include "measure/device_rig.hpp"
#include "measure/experiment.hpp"

namespace tally {

// The disk under test; tests have one that answers from a list.
class BusyDisk {
public:
    virtual ~BusyDisk() = default;
    virtual void use(const BusyModel &model) = 0;
    virtual void read_block() = 0;
    virtual std::string stat() = 0; // tally/stat
};

// Field 10 of tally/stat, in ms. Throws std::runtime_error when it is not there.
std::uint32_t busy_ms(const std::string &stat);
// The kernel prints 32 bits: the difference holds across their wrap.
std::uint32_t busy_between(std::uint32_t before, std::uint32_t after);

struct BusyFigures {
    std::string model, workload;
    std::uint64_t ios = 0;
    double busy = 0, truth = 0, elapsed = 0; // ms
};

BusyFigures
measure_busy(BusyDisk &disk, const BusyModel &model, const ThinkTime &load, const Stop &stop);

// Makes a disk per workload in the rig and runs every model on it. An empty list where the
// preset asks for nothing.
std::vector<BusyFigures> run_accuracy(const Accuracy &accuracy,
                                      Control &control,
                                      DeviceRig &rig,
                                      const Stop &stop,
                                      const Progress &progress);

} // namespace tally
