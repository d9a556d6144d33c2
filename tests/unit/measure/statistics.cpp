// SPDX-License-Identifier: GPL-2.0-or-later
// Known answers: worked out in the comments, or the published ones.
#include "measure/statistics.hpp"

#include <cmath>

#include "catch.hpp"
#include "measure/random.hpp"

using namespace tally;

TEST_CASE("median and quantiles meet the reference at every edge") {
    CHECK(std::isnan(stats::median({})));
    CHECK(stats::median({7}) == 7);
    CHECK(stats::median({4, 1, 3}) == 3);
    CHECK(stats::median({4, 1, 3, 2}) == 2.5);

    CHECK(std::isnan(stats::quantile({}, 0.5)));
    CHECK(stats::quantile({7}, 0.9999) == 7);
    CHECK(stats::quantile({2, 1}, 0.5) == 1.5);
    for (int count : {100, 101}) {
        std::vector<double> values;
        for (int i = count; i > 0; --i)
            values.push_back(i);
        CHECK(stats::quantile(values, 0.0) == 1);
        CHECK(stats::quantile(values, 1.0) == count);
        CHECK(stats::quantile(values, 0.5) == (count + 1) / 2.0);
        CHECK(stats::quantile(values, 0.9999) < count);
    }
}

TEST_CASE("mean, deviation and variation") {
    CHECK(std::isnan(stats::mean({})));
    CHECK(std::isnan(stats::deviation({1})));
    CHECK(stats::mean({2, 4, 4, 4, 5, 5, 7, 9}) == 5);
    CHECK(std::abs(stats::deviation({2, 4, 4, 4, 5, 5, 7, 9}) - 2.138089935) < 1e-9);
    CHECK(std::abs(stats::variation({2, 4, 4, 4, 5, 5, 7, 9}) - 0.427617987) < 1e-9);
    CHECK(std::isnan(stats::variation({-1, 1})));
}

TEST_CASE("Wilcoxon is exact for few differences without ties") {
    CHECK(std::isnan(stats::wilcoxon({})));
    CHECK(stats::wilcoxon({0, 0}) == 1.0);
    CHECK(stats::wilcoxon({1, 2, 3, 4, 5}) == 0.0625);    // 2 / 2^5
    CHECK(stats::wilcoxon({-1, 2, 3, 4, 5}) == 0.125);    // 2 * 2 / 2^5
    CHECK(stats::wilcoxon({-1, -2, 3, 4, 5}) == 0.3125);  // rank sum 3: 5 ways of 32, twice
    CHECK(stats::wilcoxon({0, 1, 2, 3, 4, 5}) == 0.0625); // the zero is dropped
    CHECK(stats::wilcoxon({1, -2}) == 1.0);
    std::vector<double> ten;
    for (int i = 1; i <= 10; ++i)
        ten.push_back(i);
    CHECK(stats::wilcoxon(ten) == 2.0 / 1024);
}

TEST_CASE("Wilcoxon approximates with ties, and for many") {
    // n = 6, ranks 1.5 1.5 3.5 3.5 5.5 5.5, one negative of rank 1.5: W = 1.5, mean 10.5,
    // variance 6*7*13/24 - 3*6/48 = 22.375, z = 8.5 / 4.730222 = 1.796955
    CHECK(std::abs(stats::wilcoxon({1, -1, 2, 2, 3, 3}) - 0.0723426) < 1e-5);
    // n = 30, all positive: z = (232.5 - 0.5) / sqrt(30*31*61/24) = 4.771863
    std::vector<double> many;
    for (int i = 1; i <= 30; ++i)
        many.push_back(i);
    CHECK(std::abs(stats::wilcoxon(many) - 1.8253e-6) < 1e-9);
}

TEST_CASE("Holm steps down, keeps the order and never falls") {
    const auto adjusted = stats::holm({0.01, 0.04, 0.03, 0.005});
    REQUIRE(adjusted.size() == 4);
    CHECK(std::abs(adjusted[0] - 0.03) < 1e-12);
    CHECK(std::abs(adjusted[1] - 0.06) < 1e-12);
    CHECK(std::abs(adjusted[2] - 0.06) < 1e-12);
    CHECK(std::abs(adjusted[3] - 0.02) < 1e-12);
    CHECK(stats::holm({}).empty());
    CHECK(stats::holm({0.9, 0.8})[0] == 1.0);
    // What has no p is no comparison.
    const auto holes = stats::holm({std::nan(""), 0.04});
    CHECK(std::isnan(holes[0]));
    CHECK(holes[1] == 0.04);
}

TEST_CASE("a trend is found where there is one") {
    CHECK(std::isnan(stats::trend({1, 2})));
    CHECK(stats::trend({3, 3, 3, 3}) == 1.0);
    // n = 10, S = 45, variance 125: z = 44 / 11.18034 = 3.935480
    CHECK(std::abs(stats::trend({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) - 8.303e-5) < 1e-7);
    CHECK(stats::trend({1, 9, 2, 8, 3, 7, 4, 6, 5}) > 0.5);
    // Of very many rounds the last ones count.
    std::vector<double> many(100000);
    for (std::size_t i = 0; i < many.size(); ++i)
        many[i] = i < 98000 ? static_cast<double>(i) : 0.0;
    CHECK(stats::trend(many) == 1.0);
}

TEST_CASE("the bootstrap depends on its seed and on nothing else") {
    Random random(7);
    std::vector<double> values;
    for (int i = 0; i < 40; ++i)
        values.push_back(10 + random.uniform());
    const auto first = stats::bootstrap_median(values, 1);
    const auto again = stats::bootstrap_median(values, 1);
    const auto other = stats::bootstrap_median(values, 2, 50);
    CHECK(first.low == again.low);
    CHECK(first.high == again.high);
    CHECK((first.low != other.low || first.high != other.high));
    CHECK(first.low <= stats::median(values));
    CHECK(first.high >= stats::median(values));
    CHECK(first.low < first.high);
    CHECK(stats::bootstrap_median({5}, 1).low == 5);
    CHECK(std::isnan(stats::bootstrap_median({}, 1).low));
}

TEST_CASE("the generator gives the published sequence and stays below its bound") {
    Random random(1234567);
    CHECK(random.next() == 6457827717110365317U); // reference output of SplitMix64
    CHECK(random.next() == 3203168211198807973U);
    std::vector<int> seen(6);
    for (int i = 0; i < 6000; ++i)
        ++seen.at(random.below(6));
    for (int count : seen)
        CHECK(std::abs(count - 1000) < 200);
}
