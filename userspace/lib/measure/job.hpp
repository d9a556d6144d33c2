// SPDX-License-Identifier: GPL-2.0-or-later
// What an engine is asked to do, and what it did.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tally {

// The request makes no sense: the message names the value and what is allowed.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

inline constexpr std::uint32_t threads_max = 1024;
inline constexpr std::uint32_t depth_max = 4096;
inline constexpr std::uint32_t block_max = 1U << 20;
inline constexpr std::uint32_t block_unit = 512;

struct Job {
    std::string device{};
    bool write = false, random = false;
    bool force = false; // write to a disk that is not ours
    std::uint32_t block_bytes = 512, depth = 1, threads = 1;
    std::vector<std::uint32_t> cpus{}; // one per thread, in turn; empty: those we may use
    std::uint64_t ios = 0;             // per thread; 0: no limit
    std::chrono::nanoseconds duration{0};
    std::uint64_t offset = 0, size = 0; // bytes; size 0: up to the end
    std::uint64_t seed = 1;
};

// Throws UsageError.
void check(const Job &job);

struct Count {
    std::uint64_t ios = 0, bytes = 0, errors = 0;
    std::uint64_t ns = 0; // of a thread: its own; of all: first start to last end
    std::uint32_t cpu = 0;
    int error = 0; // the first, negative errno
};

struct Result {
    Count total{};
    std::vector<Count> threads{};
    bool interrupted = false;
};

// 0 where nothing was done or no time has passed.
double iops(const Count &count);
double bytes_per_second(const Count &count);

} // namespace tally
