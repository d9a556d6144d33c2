// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/verdict.hpp"

#include <cmath>
#include <limits>

#include "catch.hpp"
#include "noise.hpp"

using namespace tally;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

Judgement judge_one(std::vector<double> values, double resolution = 0, Rule rule = {}) {
    return judge({{"x", "a", "b", std::move(values), resolution}}, rule).at(0);
}

std::vector<double> noisy(double ratio, double noise, int rounds, std::uint64_t seed) {
    Noise source(seed);
    std::vector<double> result;
    for (int i = 0; i < rounds; ++i)
        result.push_back(ratio * source(noise) / source(noise));
    return result;
}

} // namespace

TEST_CASE("four words for four cases") {
    CHECK(judge_one(noisy(1.10, 0.01, 20, 1)).verdict == Verdict::faster);
    CHECK(judge_one(noisy(0.90, 0.01, 20, 2)).verdict == Verdict::slower);
    CHECK(judge_one(noisy(1.00, 0.005, 80, 3)).verdict == Verdict::same);
    CHECK(judge_one(noisy(1.00, 0.30, 20, 4)).verdict == Verdict::undecided);
    CHECK(std::string(word(Verdict::undecided)) == "undecided");
}

TEST_CASE("a certain difference inside the margin is none") {
    const Judgement judgement = judge_one(noisy(1.008, 0.001, 40, 5));
    CHECK(judgement.adjusted < 0.001);
    CHECK(judgement.interval.low > 1.0);
    CHECK(judgement.verdict == Verdict::same);
}

TEST_CASE("what A against A cannot resolve is not claimed") {
    const std::vector<double> values = noisy(1.05, 0.005, 40, 6);
    CHECK(judge_one(values, 0.01).verdict == Verdict::faster);
    CHECK(judge_one(values, 0.08).verdict == Verdict::undecided);
    // An A against A that could not be measured resolves nothing.
    CHECK(judge_one(values, nan_value).verdict == Verdict::undecided);
}

TEST_CASE("too few rounds, and rounds without a figure, decide nothing") {
    CHECK(judge_one({}).verdict == Verdict::undecided);
    CHECK(judge_one({1.5, 1.5, 1.5}).verdict == Verdict::undecided);
    const Judgement judgement = judge_one({nan_value, 1.5, 0.0, INFINITY, 1.4});
    CHECK(judgement.rounds == 2);
    CHECK(std::abs(judgement.ratio - 1.45) < 1e-12);
}

TEST_CASE("a handful of equal rounds is not the same, and resolves nothing") {
    for (std::size_t rounds : {1U, 2U, 5U}) {
        CHECK(judge_one(std::vector<double>(rounds, 1.0)).verdict == Verdict::undecided);
        CHECK(std::isnan(resolution(std::vector<double>(rounds, 1.0), 1)));
    }
    CHECK(judge_one(std::vector<double>(rounds_min, 1.0)).verdict == Verdict::same);
    CHECK(resolution(std::vector<double>(rounds_min, 1.0), 1) == 0.0);
}

TEST_CASE("ratios never divide by zero") {
    const auto result = ratios({2, 3, 0}, {1, 0, 4});
    CHECK(result[0] == 2);
    CHECK(std::isnan(result[1]));
    CHECK(result[2] == 0);
}

TEST_CASE("equal arms: at most 5 % of the runs claim a difference") {
    int claims = 0;
    constexpr int runs = 400;
    for (std::uint64_t run = 0; run < runs; ++run) {
        const double seen = resolution(noisy(1.0, 0.03, 20, 5000 + run), run);
        const Judgement judgement =
            judge_one(noisy(1.0, 0.03, 20, 90000 + run), seen, {.seed = run});
        claims += judgement.verdict == Verdict::faster || judgement.verdict == Verdict::slower;
    }
    CHECK(claims <= runs * 5 / 100);
}

TEST_CASE("3 % under 1 % of noise: found in at least 95 % of runs of 20 rounds") {
    int found = 0;
    constexpr int runs = 400;
    for (std::uint64_t run = 0; run < runs; ++run) {
        const double seen = resolution(noisy(1.0, 0.01, 20, 5000 + run), run);
        // Five comparisons stand together, as in an experiment.
        std::vector<Pairing> pairings;
        for (std::uint64_t i = 0; i < 5; ++i)
            pairings.push_back(
                {"", "", "", noisy(i == 0 ? 1.03 : 1.0, 0.01, 20, 7000000 + run * 5 + i), seen});
        found += judge(pairings, {.seed = run})[0].verdict == Verdict::faster;
    }
    CHECK(found >= runs * 95 / 100);
}
