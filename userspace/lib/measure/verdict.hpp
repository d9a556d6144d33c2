// SPDX-License-Identifier: GPL-2.0-or-later
// From paired rounds to one of four words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/statistics.hpp"

namespace tally {

enum class Verdict { faster, slower, same, undecided };
const char *word(Verdict verdict);

// One arm against another, round by round: more than 1 is faster.
struct Pairing {
    std::string name, arm, against;
    std::vector<double> ratios; // NaN where one of the two has no figure
    double resolution = 0;      // the smallest difference that A against A lets one believe
};

struct Judgement {
    std::string name, arm, against;
    std::size_t rounds = 0; // pairs that count
    double ratio = 0;       // median
    stats::Interval interval{};
    double resolution = 0;
    double p = 0, adjusted = 0; // Wilcoxon on the logarithms; Holm over all pairings
    Verdict verdict = Verdict::undecided;
};

// Fewer pairs say nothing: the interval of one or two has no width worth the name, and the test
// cannot reach the level before the sixth.
inline constexpr std::size_t rounds_min = 6;

struct Rule {
    double margin = 0.02; // half width of "same"
    double level = 0.05;
    std::uint64_t seed = 1;
};

// What A against A can resolve: the farthest end of its interval from 1. NaN for too few rounds.
double resolution(const std::vector<double> &ratios, std::uint64_t seed);

std::vector<double> ratios(const std::vector<double> &arm, const std::vector<double> &against);

// The verdicts stand together: Holm's adjustment runs over all of them.
std::vector<Judgement> judge(const std::vector<Pairing> &pairings, const Rule &rule);

} // namespace tally
