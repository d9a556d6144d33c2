// SPDX-License-Identifier: GPL-2.0-or-later
// What a thread does at the moment, for those who watch over it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

namespace fuzz {

class Activity {
public:
    using Clock = std::chrono::steady_clock;

    // bytes are copied: the caller of a call that hangs may be beyond asking.
    void begin(const char* what, unsigned request = 0, std::span<const uint8_t> bytes = {}) {
        what_ = what;
        request_ = request;
        size_ = std::min(bytes.size(), sizeof(bytes_));
        std::copy_n(bytes.begin(), size_, bytes_);
        since_ = Clock::now().time_since_epoch().count();
    }
    void end() { since_ = 0; }

    std::chrono::duration<double> age() const {
        const auto since = since_.load();
        return since ? Clock::now().time_since_epoch() - Clock::duration(since)
                     : Clock::duration(0);
    }
    void print() const {
        std::printf("%s: request 0x%08x, structure:", what_, request_);
        for (size_t i = 0; i < size_; i++)
            std::printf("%s%02x", i % 32 ? "" : "\n  ", bytes_[i]);
        std::printf("\n");
        std::fflush(stdout);
    }

private:
    std::atomic<Clock::rep> since_{0};
    const char* what_ = "";
    unsigned request_ = 0;
    size_t size_ = 0;
    uint8_t bytes_[1024];
};

} // namespace fuzz
