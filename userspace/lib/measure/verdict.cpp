// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/verdict.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tally {
namespace {

std::vector<double> usable(const std::vector<double> &ratios) {
    std::vector<double> kept;
    std::copy_if(ratios.begin(), ratios.end(), std::back_inserter(kept), [](double ratio) {
        return std::isfinite(ratio) && ratio > 0.0;
    });
    return kept;
}

// "Same" is asked first: a difference that is certain but smaller than the margin is none that
// anybody asked about.
Verdict decide(const Judgement &judgement, const Rule &rule) {
    const auto &[low, high] = judgement.interval;
    if (judgement.rounds < rounds_min || !std::isfinite(low) || !std::isfinite(high))
        return Verdict::undecided;
    if (low >= 1.0 - rule.margin && high <= 1.0 + rule.margin)
        return Verdict::same;
    const bool excludes_one = low > 1.0 || high < 1.0;
    const bool resolved = std::abs(judgement.ratio - 1.0) > judgement.resolution;
    if (!excludes_one || !resolved || !(judgement.adjusted < rule.level))
        return Verdict::undecided;
    return judgement.ratio > 1.0 ? Verdict::faster : Verdict::slower;
}

} // namespace

const char *word(Verdict verdict) {
    constexpr std::array words{"faster", "slower", "same", "undecided"};
    return words.at(static_cast<std::size_t>(verdict));
}

double resolution(const std::vector<double> &ratios, std::uint64_t seed) {
    const std::vector<double> kept = usable(ratios);
    if (kept.size() < rounds_min)
        return std::numeric_limits<double>::quiet_NaN();
    const auto [low, high] = stats::bootstrap_median(kept, seed);
    return std::max(std::abs(low - 1.0), std::abs(high - 1.0));
}

std::vector<double> ratios(const std::vector<double> &arm, const std::vector<double> &against) {
    std::vector<double> result(std::min(arm.size(), against.size()));
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] =
            against[i] > 0.0 ? arm[i] / against[i] : std::numeric_limits<double>::quiet_NaN();
    return result;
}

std::vector<Judgement> judge(const std::vector<Pairing> &pairings, const Rule &rule) {
    std::vector<Judgement> result;
    std::vector<double> p;
    for (const Pairing &pairing : pairings) {
        const std::vector<double> kept = usable(pairing.ratios);
        std::vector<double> logs(kept.size());
        std::transform(
            kept.begin(), kept.end(), logs.begin(), [](double r) { return std::log(r); });

        Judgement judgement{.name = pairing.name, .arm = pairing.arm, .against = pairing.against};
        judgement.rounds = kept.size();
        judgement.ratio = stats::median(kept);
        judgement.interval = stats::bootstrap_median(kept, rule.seed);
        judgement.resolution = pairing.resolution;
        judgement.p = stats::wilcoxon(logs);
        p.push_back(judgement.p);
        result.push_back(std::move(judgement));
    }
    const std::vector<double> adjusted = stats::holm(p);
    for (std::size_t i = 0; i < result.size(); ++i) {
        result[i].adjusted = adjusted[i];
        result[i].verdict = decide(result[i], rule);
    }
    return result;
}

} // namespace tally
