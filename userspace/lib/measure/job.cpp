// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/job.hpp"

#include <array>

#include <fmt/format.h>

namespace tally {

void check(const Job &job) {
    struct Limit {
        const char *what;
        std::uint64_t value, low, high;
    };
    const std::array limits{
        Limit{"jobs", job.threads, 1, threads_max},
        Limit{"depth", job.depth, 1, depth_max},
        Limit{"block size", job.block_bytes, block_unit, block_max},
    };
    for (const Limit &limit : limits)
        if (limit.value < limit.low || limit.value > limit.high)
            throw UsageError(fmt::format(
                "{} {}: must be {} to {}", limit.what, limit.value, limit.low, limit.high));
    if (job.block_bytes % block_unit != 0)
        throw UsageError(
            fmt::format("block size {}: must be a multiple of {}", job.block_bytes, block_unit));
    if (job.offset % block_unit != 0 || job.size % block_unit != 0)
        throw UsageError(fmt::format(
            "offset {}, size {}: must be multiples of {}", job.offset, job.size, block_unit));
    if (job.size != 0 && job.size < job.block_bytes)
        throw UsageError(
            fmt::format("size {}: must hold at least one block of {}", job.size, job.block_bytes));
    if (job.ios == 0 && job.duration.count() <= 0)
        throw UsageError("a job needs a run time or a number of I/Os");
}

double iops(const Count &count) {
    return count.ns == 0 ? 0.0
                         : static_cast<double>(count.ios) * 1e9 / static_cast<double>(count.ns);
}

double bytes_per_second(const Count &count) {
    return count.ns == 0 ? 0.0
                         : static_cast<double>(count.bytes) * 1e9 / static_cast<double>(count.ns);
}

} // namespace tally
