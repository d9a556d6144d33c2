// SPDX-License-Identifier: GPL-2.0-or-later
// The statistics behind a verdict. All of it is plain arithmetic on vectors: no I/O, no global
// state, and the same seed gives the same answer. An answer that does not exist (the median of
// nothing) is NaN; the report turns that into null.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tally::stats {

struct Interval {
    double low, high;
};

double mean(const std::vector<double> &values);
double deviation(const std::vector<double> &values); // of the sample, n - 1
double variation(const std::vector<double> &values); // deviation / mean
double median(std::vector<double> values);
// Linear between the ranks; 0 is the smallest and 1 the largest value.
double quantile(std::vector<double> values, double fraction);

// Percentile bootstrap of any figure of n rounds: `figure` gets the drawn round numbers.
Interval bootstrap(std::size_t rounds,
                   const std::function<double(const std::vector<std::size_t> &)> &figure,
                   std::uint64_t seed,
                   unsigned resamples = 2000,
                   double level = 0.95);
Interval bootstrap_median(const std::vector<double> &values,
                          std::uint64_t seed,
                          unsigned resamples = 2000,
                          double level = 0.95);

// Two-sided p of the Wilcoxon signed-rank test that the differences are symmetric about zero.
// Zeros are dropped. Exact up to 25 differences without ties, else the normal approximation with
// corrections for ties and continuity.
double wilcoxon(const std::vector<double> &differences);

// Holm's step-down adjustment, in the order given. A NaN stays one and does not count.
std::vector<double> holm(const std::vector<double> &p);

// Two-sided p of the Mann-Kendall test for a trend over the last rounds, 2000 at most: it looks at
// every pair.
double trend(const std::vector<double> &rounds);

} // namespace tally::stats
