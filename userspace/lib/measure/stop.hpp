// SPDX-License-Identifier: GPL-2.0-or-later
// A request to end early that a signal handler may make and anybody may wait for.
#pragma once

#include <atomic>
#include <chrono>
#include <system_error>

namespace tally {

class Stop {
public:
    Stop();
    ~Stop();
    Stop(const Stop &) = delete;
    Stop &operator=(const Stop &) = delete;

    void request(int signal) noexcept; // async-signal-safe
    int signal() const noexcept { return signal_.load(std::memory_order_relaxed); }
    bool requested() const noexcept { return signal() != 0; }

    // Until `time` has passed, `event_fd` (if any) can be read, or a stop is requested.
    void wait(std::chrono::nanoseconds time, int event_fd = -1) const;

    // Did a system call fail because of the signal that requested the stop?
    bool explains(const std::system_error &error) const noexcept {
        return requested() && error.code() == std::errc::interrupted;
    }

private:
    std::atomic<int> signal_{0};
    int fd_;
};

} // namespace tally
