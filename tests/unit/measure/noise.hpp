// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cmath>

#include "measure/random.hpp"

// Log-normal noise about 1.
class Noise {
public:
    explicit Noise(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15U + 1) {}
    double operator()(double deviation) {
        const double radius = std::sqrt(-2.0 * std::log(random_.uniform()));
        return std::exp(deviation * radius * std::cos(6.283185307179586 * random_.uniform()));
    }

private:
    tally::Random random_;
};
