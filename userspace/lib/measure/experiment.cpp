// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/experiment.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "measure/random.hpp"

namespace tally {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr std::chrono::nanoseconds shortest = 20ms, longest = 400ms, warm_up = 50ms;

std::string variant(const std::string &arm, std::uint32_t threads) {
    return fmt::format("{} @{}", arm, threads);
}

// Thread counts of a contrast that say something the whole run does not.
std::vector<std::uint32_t> variants(const Contrast &contrast, const Settings &settings) {
    const std::size_t cpus = settings.cpus.empty() ? allowed_cpus().size() : settings.cpus.size();
    std::vector<std::uint32_t> kept;
    for (std::uint32_t threads : contrast.threads)
        if (threads != settings.threads && threads <= cpus && cpus >= 2)
            kept.push_back(threads);
    return kept;
}

// The baseline's second turn.
std::string again(const std::string &baseline) { return baseline + " again"; }

Job job_of(const Preset &preset, const Settings &settings, const Arm &arm) {
    Job job;
    job.write = preset.write;
    job.random = preset.random;
    job.block_bytes = preset.block_bytes;
    job.threads = arm.threads;
    job.cpus = settings.cpus;
    job.seed = settings.seed;
    return job;
}

// One arm's turn. What the turn costs beside its slice is `overhead`.
class Turns {
public:
    Turns(
        const Preset &preset, const Settings &settings, Engine &engine, Rig &rig, const Stop &stop)
        : preset_(preset), settings_(settings), engine_(engine), rig_(rig), stop_(stop) {}

    Result take(Series &series, std::chrono::nanoseconds slice) {
        Job job = job_of(preset_, settings_, series.arm);
        job.duration = slice;
        try {
            job.device = rig_.enter(series.arm);
            return run_whole([&] { return engine_.run(job, stop_); }, stop_);
        } catch (const std::system_error &error) {
            if (!stop_.explains(error))
                throw;
            Result result;
            result.interrupted = true;
            return result;
        }
    }

    void measure(Series &series, std::chrono::nanoseconds slice, std::uint32_t round) {
        const Result result = take(series, slice);
        series.ios += result.total.ios;
        series.errors += result.total.errors;
        if (!result.interrupted && result.total.errors == 0 && result.total.ios != 0)
            series.iops[round] = iops(result.total);
    }

    // The first turn of an arm pays for much that the later ones do not, so it does not count;
    // the second shows what a turn costs.
    std::chrono::nanoseconds warm(Series &series) {
        try {
            take(series, warm_up);
            const auto begin = Clock::now();
            take(series, warm_up);
            return std::max<std::chrono::nanoseconds>(Clock::now() - begin - warm_up, 0ns);
        } catch (const Missing &reason) {
            series.missing = reason.what();
            return 0ns;
        }
    }

private:
    const Preset &preset_;
    const Settings &settings_;
    Engine &engine_;
    Rig &rig_;
    const Stop &stop_;
};

std::vector<std::size_t> present(const std::vector<Series> &series) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < series.size(); ++i)
        if (series[i].missing.empty())
            order.push_back(i);
    return order;
}

std::chrono::nanoseconds
slice_within(const Settings &settings, std::size_t arms, std::chrono::nanoseconds overhead) {
    if (settings.slice.count() > 0)
        return settings.slice;
    if (settings.budget.count() <= 0)
        return longest;
    const auto round = settings.budget / std::max(settings.rounds, 1U);
    return std::clamp((round - overhead) / static_cast<int>(arms), shortest, longest);
}

const Series *find(const Rounds &rounds, const std::string &arm) {
    for (const Series &series : rounds.series)
        if (series.arm.name == arm)
            return series.missing.empty() ? &series : nullptr;
    return nullptr;
}

std::vector<double> finite(const std::vector<double> &values) {
    std::vector<double> kept;
    std::copy_if(values.begin(), values.end(), std::back_inserter(kept), [](double value) {
        return std::isfinite(value);
    });
    return kept;
}

double change(const std::vector<double> &values) {
    const auto third = static_cast<std::ptrdiff_t>(values.size() / 3);
    if (third == 0)
        return none;
    const double first = stats::median({values.begin(), values.begin() + third});
    return first > 0.0 ? stats::median({values.end() - third, values.end()}) / first - 1.0 : none;
}

ArmFigures figures(const Series &series) {
    const std::vector<double> values = finite(series.iops);
    ArmFigures figures{
        .name = series.arm.name, .missing = series.missing, .threads = series.arm.threads};
    figures.iops = stats::median(values);
    figures.ns = figures.iops > 0.0 ? series.arm.threads * 1e9 / figures.iops : none;
    figures.variation = stats::variation(values);
    figures.drift = change(values);
    figures.drift_p = stats::trend(values);
    return figures;
}

// Processor time that an arm adds to the baseline in each round.
std::vector<double> added_time(const Series &arm, const Series &baseline) {
    std::vector<double> added(arm.iops.size());
    for (std::size_t i = 0; i < added.size(); ++i)
        added[i] = arm.arm.threads / arm.iops[i] - baseline.arm.threads / baseline.iops[i];
    return added;
}

AddedFigures added_figures(const Added &goal, const Rounds &rounds, std::uint64_t seed) {
    AddedFigures result{goal, none, {none, none}};
    const Series &baseline = rounds.series.front();
    const Series *arm = find(rounds, goal.arm);
    const Series *than = find(rounds, goal.than);
    if (arm == nullptr || than == nullptr)
        return result;
    const auto ours = added_time(*arm, baseline), theirs = added_time(*than, baseline);
    std::vector<double> a, b;
    for (std::size_t round = 0; round < ours.size(); ++round)
        if (std::isfinite(ours[round]) && std::isfinite(theirs[round])) {
            a.push_back(ours[round]);
            b.push_back(theirs[round]);
        }
    // A part of what may be nothing, or less, is no figure.
    if (b.size() < rounds_min || !(stats::bootstrap_median(b, seed).low > 0.0))
        return result;
    const auto ratio = [&](const std::vector<std::size_t> &drawn) {
        std::vector<double> x, y;
        for (std::size_t round : drawn) {
            x.push_back(a[round]);
            y.push_back(b[round]);
        }
        return stats::median(std::move(x)) / stats::median(std::move(y));
    };
    result.ratio = stats::median(a) / stats::median(b);
    result.interval = stats::bootstrap(a.size(), ratio, seed);
    return result;
}

} // namespace

const char *outcome(const AddedFigures &figures) {
    const auto &[low, high] = figures.interval;
    if (!std::isfinite(figures.ratio))
        return "unknown";
    return high <= figures.goal.strive ? "reached"
           : high <= figures.goal.must ? "ok"
           : low > figures.goal.must   ? "over"
                                       : "undecided";
}

std::vector<Arm> plan_arms(const Preset &preset, const Settings &settings) {
    std::vector<Arm> arms;
    const auto add = [&](Arm arm, std::uint32_t threads) {
        if (arm.threads == 0)
            arm.threads = threads;
        const auto same = [&](const Arm &other) { return other.name == arm.name; };
        if (std::none_of(arms.begin(), arms.end(), same))
            arms.push_back(std::move(arm));
    };
    add(preset.arm(preset.baseline), settings.threads);
    Arm second = preset.arm(preset.baseline);
    second.name = again(preset.baseline);
    add(second, settings.threads);
    for (const Arm &arm : preset.arms)
        add(arm, settings.threads);
    for (const Contrast &contrast : preset.contrasts)
        for (std::uint32_t threads : variants(contrast, settings))
            for (Arm arm : {preset.arm(preset.baseline),
                            second,
                            preset.arm(contrast.arm),
                            preset.arm(contrast.against)}) {
                arm.name = variant(arm.name, threads);
                add(arm, threads);
            }
    return arms;
}

Rounds run_rounds(const Preset &preset,
                  const Settings &settings,
                  Engine &engine,
                  Rig &rig,
                  const Stop &stop,
                  const Progress &progress) {
    Rounds rounds;
    rounds.engine = engine.name();
    rounds.asked = settings.rounds;
    for (Arm &arm : plan_arms(preset, settings))
        rounds.series.push_back(
            {std::move(arm), {}, std::vector<double>(settings.rounds, none), 0, 0});

    Turns turns(preset, settings, engine, rig, stop);
    std::chrono::nanoseconds overhead{0};
    for (Series &series : rounds.series) {
        if (stop.requested())
            break;
        progress(fmt::format("{}: warming up {}", rounds.engine, series.arm.name));
        overhead += turns.warm(series);
    }
    std::vector<std::size_t> order = present(rounds.series);
    if (!rounds.series.front().missing.empty())
        throw Missing("the baseline: " + rounds.series.front().missing);
    rounds.slice = slice_within(settings, order.size(), overhead);
    rounds.planned = (rounds.slice * order.size() + overhead) * settings.rounds;
    progress(fmt::format("{}: {} rounds of {} arms, {} ms each: about {} s",
                         rounds.engine,
                         settings.rounds,
                         order.size(),
                         rounds.slice / 1ms,
                         rounds.planned / 1s));

    Random random(settings.seed);
    const auto begin = Clock::now();
    for (std::uint32_t round = 0; round < settings.rounds && !stop.requested(); ++round) {
        progress(fmt::format("{}: round {} of {}", rounds.engine, round + 1, settings.rounds));
        random.shuffle(order);
        for (std::size_t arm : order)
            if (!stop.requested())
                turns.measure(rounds.series[arm], rounds.slice, round);
        rounds.done += !stop.requested();
    }
    rounds.taken = Clock::now() - begin;
    rounds.interrupted = stop.requested();
    return rounds;
}

Findings conclude(const Preset &preset, const Settings &settings, const Rounds &rounds) {
    Findings findings;
    const auto resolved = [&](const Series *a, const Series *b) {
        return a != nullptr && b != nullptr ? resolution(ratios(a->iops, b->iops), settings.seed)
                                            : none;
    };
    findings.resolution[settings.threads] =
        resolved(find(rounds, again(preset.baseline)), find(rounds, preset.baseline));
    for (const Contrast &contrast : preset.contrasts)
        for (std::uint32_t threads : variants(contrast, settings))
            findings.resolution[threads] =
                resolved(find(rounds, variant(again(preset.baseline), threads)),
                         find(rounds, variant(preset.baseline, threads)));
    for (const Series &series : rounds.series)
        findings.arms.push_back(figures(series));

    std::vector<Pairing> pairings;
    const auto pair =
        [&](const std::string &name,
            const std::string &arm,
            const std::string &against,
            std::uint32_t threads) {
            const Series *a = find(rounds, arm);
            const Series *b = find(rounds, against);
            if (a != nullptr && b != nullptr)
                pairings.push_back({name,
                                    arm,
                                    against,
                                    ratios(a->iops, b->iops),
                                    findings.resolution.at(threads)});
        };
    for (const Arm &arm : preset.arms)
        if (arm.name != preset.baseline)
            pair(arm.name, arm.name, preset.baseline, settings.threads);
    const std::size_t of_baseline = pairings.size();
    for (const Contrast &contrast : preset.contrasts) {
        pair(variant(contrast.name, settings.threads),
             contrast.arm,
             contrast.against,
             settings.threads);
        for (std::uint32_t threads : variants(contrast, settings))
            pair(variant(contrast.name, threads),
                 variant(contrast.arm, threads),
                 variant(contrast.against, threads),
                 threads);
    }
    const auto all =
        judge(pairings, {.margin = settings.margin, .level = 0.05, .seed = settings.seed});
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(of_baseline);
    findings.of_baseline.assign(all.begin(), middle);
    findings.contrasts.assign(middle, all.end());

    for (const Added &goal : preset.added)
        findings.added.push_back(added_figures(goal, rounds, settings.seed));
    return findings;
}

} // namespace tally
