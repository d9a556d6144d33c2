// SPDX-License-Identifier: GPL-2.0-or-later
// Cycles and instructions of one CPU, user and kernel, where the machine lets us count them.
#pragma once

#include <cstdint>
#include <optional>

#include "measure/file.hpp"

namespace tally {

class PerfCounters {
public:
    explicit PerfCounters(std::uint32_t cpu);

    struct Values {
        std::optional<std::uint64_t> cycles, instructions;
    };
    Values read() const; // running totals

private:
    File cycles_, instructions_;
};

} // namespace tally
