// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/instructions.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace tally {
namespace {

using Clock = std::chrono::steady_clock;

// The best of some: a timer interrupt only ever adds.
template <typename Loop> double shortest_ns(Loop loop) {
    double best = 1e300;
    for (int i = 0; i < 5; ++i) {
        const auto begin = Clock::now();
        loop();
        best =
            std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
    }
    return best;
}

} // namespace

bool InstructionClock::counts() const noexcept {
    const auto near_one = [](double ns) { return std::abs(ns - 1.0) < 0.02; };
    return near_one(cheap_ns) && near_one(dear_ns);
}

InstructionClock measure_instruction_clock() {
#if defined(__x86_64__)
    constexpr std::uint64_t rounds = 200000;
    const double cheap = shortest_ns([] {
        std::uint64_t left = rounds;
        asm volatile("1: dec %0\n\tjnz 1b" : "+r"(left)::"cc");
    });
    // Each division waits for the one before: tens of cycles apiece on a real processor.
    const double dear = shortest_ns([] {
        std::uint64_t left = rounds, low = ~0ULL, high = 0;
        asm volatile("1: div %3\n\txor %%edx, %%edx\n\tor $-1, %%rax\n\tdec %0\n\tjnz 1b"
                     : "+r"(left), "+a"(low), "+d"(high)
                     : "r"(std::uint64_t{3})
                     : "cc");
    });
    return {cheap / (2.0 * rounds), dear / (5.0 * rounds)};
#else
    return {};
#endif
}

} // namespace tally
