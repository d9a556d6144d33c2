// SPDX-License-Identifier: GPL-2.0-or-later
// Who is at work beside the callers: one changes a byte under a call that runs, others use the
// disks, send signals, let go what waits, and give up on what hangs.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <stop_token>
#include <vector>

#include <pthread.h>

#include "activity.hpp"
#include "request.hpp"

namespace fuzz {

class Racer {
public:
    void run(std::stop_token stop);
    // Runs CALL while *AT changes between what it is and OTHER.
    void race(uint8_t* at, uint8_t other, const std::function<void()>& call);

private:
    std::mutex one_; // race at a time
    std::atomic<volatile uint8_t*> at_{nullptr};
    std::atomic<bool> busy_{false};
    volatile uint8_t nothing_ = 0; // where to look once it ends
    uint8_t values_[2] = {};
};

// Opens, reads, writes and closes disks of ours; reads and writes their files in sysfs. One that
// PATIENTly reads maps may have to wait until they are resumed.
void visit(
    std::stop_token stop, const World& world, bool patient, uint64_t seed, Activity& activity);

void send_signals(std::stop_token stop, const std::vector<pthread_t>& callers, uint64_t seed);

// Calls may wait for I/O that a suspended map below keeps: nobody else resumes if all of them do.
void rescue(std::stop_token stop, const World& world, const std::vector<const Activity*>& all);

// Ends the program when anything takes longer than a minute.
void watch(std::stop_token stop, const std::vector<const Activity*>& all);

} // namespace fuzz
