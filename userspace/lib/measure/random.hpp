// SPDX-License-Identifier: GPL-2.0-or-later
// A small seeded generator (SplitMix64). The standard library's distributions differ between
// implementations; a printed seed must give the same blocks and the same intervals everywhere.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tally {

class Random {
public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

    // In [0, bound); the bias of the multiplication is below bound / 2^64.
    std::uint64_t below(std::uint64_t bound) noexcept {
        return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
    }

    // In (0, 1).
    double uniform() noexcept { return (static_cast<double>(next() >> 12) + 0.5) * 0x1p-52; }

    template <typename T> void shuffle(std::vector<T> &items) noexcept {
        for (std::size_t left = items.size(); left > 1; --left)
            std::swap(items[left - 1], items[below(left)]);
    }

private:
    __extension__ using Wide = unsigned __int128;
    std::uint64_t state_;
};

} // namespace tally
