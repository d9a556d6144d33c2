// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace fuzz {

// splitmix64: small, seeded by any number, good enough for choices.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        uint64_t x = state_ += 0x9e3779b97f4a7c15;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
        return x ^ (x >> 31);
    }
    uint64_t below(uint64_t limit) { return next() % limit; }
    bool percent(unsigned chance) { return below(100) < chance; }
    template <typename Container> auto& pick(Container&& from) {
        return *(std::begin(from) + below(std::size(from)));
    }

private:
    uint64_t state_;
};

} // namespace fuzz
