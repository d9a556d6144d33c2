// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "measure/random.hpp"

namespace tally::stats {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t exact_limit = 25, trend_limit = 2000;

double two_sided(double z) { return std::min(1.0, std::erfc(std::abs(z) / std::sqrt(2.0))); }

// Calls visit(first, last) for every run of equal values in a sorted range.
template <typename Less, typename Visit>
void each_tie(std::size_t count, Less differs, Visit visit) {
    for (std::size_t first = 0; first < count;) {
        std::size_t last = first + 1;
        while (last < count && !differs(first, last))
            ++last;
        visit(first, last);
        first = last;
    }
}

// Probability that the smaller rank sum of n untied differences is at most w, both tails.
double exact_p(std::size_t n, std::size_t w) {
    std::vector<double> ways(n * (n + 1) / 2 + 1, 0.0);
    ways[0] = 1.0;
    for (std::size_t rank = 1; rank <= n; ++rank)
        for (std::size_t sum = ways.size() - 1; sum >= rank; --sum)
            ways[sum] += ways[sum - rank];
    const auto end = ways.begin() + static_cast<std::ptrdiff_t>(w) + 1;
    const double tail = std::accumulate(ways.begin(), end, 0.0);
    return std::min(1.0, 2.0 * std::ldexp(tail, -static_cast<int>(n)));
}

} // namespace

double mean(const std::vector<double> &values) {
    if (values.empty())
        return none;
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double> &values) {
    if (values.size() < 2)
        return none;
    const double centre = mean(values);
    double sum = 0.0;
    for (double value : values)
        sum += (value - centre) * (value - centre);
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double variation(const std::vector<double> &values) {
    const double centre = mean(values);
    return centre == 0.0 ? none : deviation(values) / centre;
}

double median(std::vector<double> values) {
    if (values.empty())
        return none;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 != 0)
        return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2.0;
}

double quantile(std::vector<double> values, double fraction) {
    if (values.empty())
        return none;
    std::sort(values.begin(), values.end());
    const double rank = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(rank);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return std::lerp(values[below], values[above], rank - static_cast<double>(below));
}

Interval bootstrap(std::size_t rounds,
                   const std::function<double(const std::vector<std::size_t> &)> &figure,
                   std::uint64_t seed,
                   unsigned resamples,
                   double level) {
    if (rounds == 0 || resamples == 0)
        return {none, none};
    Random random(seed);
    std::vector<std::size_t> drawn(rounds);
    std::vector<double> figures;
    figures.reserve(resamples);
    for (unsigned i = 0; i < resamples; ++i) {
        for (std::size_t &round : drawn)
            round = random.below(rounds);
        if (const double value = figure(drawn); std::isfinite(value))
            figures.push_back(value);
    }
    const double tail = (1.0 - level) / 2.0;
    return {quantile(figures, tail), quantile(figures, 1.0 - tail)};
}

Interval bootstrap_median(const std::vector<double> &values,
                          std::uint64_t seed,
                          unsigned resamples,
                          double level) {
    std::vector<double> sample(values.size());
    const auto figure = [&](const std::vector<std::size_t> &drawn) {
        std::transform(drawn.begin(), drawn.end(), sample.begin(), [&](std::size_t round) {
            return values[round];
        });
        return median(sample);
    };
    return bootstrap(values.size(), figure, seed, resamples, level);
}

double wilcoxon(const std::vector<double> &differences) {
    std::vector<double> sorted;
    for (double difference : differences)
        if (difference != 0.0 && !std::isnan(difference))
            sorted.push_back(difference);
    if (sorted.empty())
        return differences.empty() ? none : 1.0;
    std::sort(
        sorted.begin(), sorted.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });

    const auto n = static_cast<double>(sorted.size());
    double positive = 0.0, ties = 0.0;
    each_tie(
        sorted.size(),
        [&](std::size_t a, std::size_t b) { return std::abs(sorted[a]) != std::abs(sorted[b]); },
        [&](std::size_t first, std::size_t last) {
            const auto size = static_cast<double>(last - first);
            const double rank = (static_cast<double>(first + last) + 1.0) / 2.0;
            ties += size * size * size - size;
            for (std::size_t i = first; i < last; ++i)
                positive += sorted[i] > 0.0 ? rank : 0.0;
        });

    const double total = n * (n + 1.0) / 2.0;
    if (ties == 0.0 && sorted.size() <= exact_limit)
        return exact_p(sorted.size(),
                       static_cast<std::size_t>(std::min(positive, total - positive)));
    const double variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    const double distance = std::max(0.0, std::abs(positive - total / 2.0) - 0.5);
    return two_sided(distance / std::sqrt(variance));
}

std::vector<double> holm(const std::vector<double> &p) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < p.size(); ++i)
        if (!std::isnan(p[i]))
            order.push_back(i);
    std::sort(
        order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });

    std::vector<double> adjusted(p.size(), none);
    double floor = 0.0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        floor = std::max(floor, std::min(1.0, p[order[i]] * static_cast<double>(order.size() - i)));
        adjusted[order[i]] = floor;
    }
    return adjusted;
}

double trend(const std::vector<double> &rounds) {
    if (rounds.size() < 3)
        return none;
    const auto count = static_cast<std::ptrdiff_t>(std::min(rounds.size(), trend_limit));
    const std::vector<double> values(rounds.end() - count, rounds.end());
    double score = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i)
        for (std::size_t j = i + 1; j < values.size(); ++j)
            score += (values[j] > values[i]) - (values[j] < values[i]);

    const auto spread = [](double n) { return n * (n - 1.0) * (2.0 * n + 5.0); };
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    double variance = spread(static_cast<double>(values.size()));
    each_tie(
        sorted.size(),
        [&](std::size_t a, std::size_t b) { return sorted[a] != sorted[b]; },
        [&](std::size_t first, std::size_t last) {
            variance -= spread(static_cast<double>(last - first));
        });
    variance /= 18.0;
    if (variance <= 0.0)
        return 1.0;
    return two_sided(std::max(0.0, std::abs(score) - 1.0) / std::sqrt(variance));
}

} // namespace tally::stats
