// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "measure/perf_counters.hpp"

namespace tally {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

CostPath path(const char *id,
              const char *about,
              const char *engine,
              const char *device,
              const char *profile,
              const char *raw = "",
              const char *peer = "") {
    Arm arm;
    arm.name = id;
    arm.device = device;
    arm.profile = profile;
    arm.threads = 1;
    return {id, about, engine, arm, raw, peer};
}

const CostFigures *find(const std::vector<CostFigures> &all, const std::string &id) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const CostFigures &f) { return f.id == id; });
    return found != all.end() ? &*found : nullptr;
}

double figure(const std::vector<CostFigures> &all, const std::string &id, bool added) {
    const CostFigures *found = find(all, id);
    if (found == nullptr || !found->missing.empty())
        return none;
    return added ? found->added : found->cost;
}

double limit(const Bound &bound, const std::vector<CostFigures> &all, bool added) {
    return bound.constant +
           (bound.factor == 0.0 ? 0.0 : bound.factor * figure(all, bound.path, added));
}

// One path's repeats.
struct Samples {
    std::vector<double> cost, cycles, retired;
};

class Measurement {
public:
    Measurement(const CostSettings &settings, const Engines &engines, Rig &rig, const Stop &stop)
        : settings_(settings), engines_(engines), rig_(rig), stop_(stop), counters_(settings.cpu) {}

    void repeat(const CostPath &path, Samples &samples) {
        Engine &engine = *engines_.at(path.engine);
        Job job;
        job.device = rig_.enter(path.arm);
        job.cpus = {settings_.cpu};
        job.seed = settings_.seed;
        job.ios = settings_.warm_up;
        engine.run(job, stop_);
        job.ios = settings_.ios;
        PerfCounters::Values before, after;
        const auto turn = [&] {
            before = counters_.read();
            Result result = engine.run(job, stop_);
            after = counters_.read();
            return result;
        };
        const Result result = run_whole(turn, stop_);
        if (result.total.errors != 0)
            throw Missing(fmt::format("{} of its I/Os failed", result.total.errors));
        if (result.interrupted || result.total.ios == 0)
            return;
        const auto ios = static_cast<double>(result.total.ios);
        samples.cost.push_back(static_cast<double>(result.total.ns) / ios);
        add(samples.cycles, before.cycles, after.cycles, ios);
        add(samples.retired, before.instructions, after.instructions, ios);
    }

private:
    using Counter = std::optional<std::uint64_t>;
    static void
    add(std::vector<double> &to, const Counter &before, const Counter &after, double ios) {
        if (before && after && *after > *before)
            to.push_back(static_cast<double>(*after - *before) / ios);
    }

    const CostSettings &settings_;
    const Engines &engines_;
    Rig &rig_;
    const Stop &stop_;
    PerfCounters counters_;
};

void summarise(CostFigures &figures, const Samples &samples) {
    if (figures.missing.empty() && samples.cost.empty())
        figures.missing = "not measured before the run ended";
    figures.cost = stats::median(samples.cost);
    figures.cycles = stats::median(samples.cycles);
    figures.retired = stats::median(samples.retired);
    figures.spread =
        (stats::quantile(samples.cost, 1.0) - stats::quantile(samples.cost, 0.0)) / figures.cost;
}

} // namespace

const std::vector<CostPath> &cost_paths() {
    // Order matters for reading alone: floors, disks, then what is stacked on them.
    static const std::vector<CostPath> paths{
        path("floor-empty", "floor: an empty bio disk", "kernel", "floor-empty", ""),
        path("tnull-none", "tnull, none", "kernel", "null", "none"),
        path("tram-none", "tram flat, none", "kernel", "ram", "none"),
        path("tram-5.0", "tram flat, linux-5.0", "kernel", "ram", "linux-5.0"),
        path("brd", "brd", "kernel", "brd", ""),
        path("null_blk", "null_blk, blk-mq", "kernel", "null_blk", ""),
        path("tnull-mq-none", "tnull mq, none", "kernel", "null-mq", "none"),
        path("tnull-mq-5.0",
             "tnull mq, linux-5.0",
             "kernel",
             "null-mq",
             "linux-5.0",
             "tnull-mq-none"),
        path("tnull-mq-native",
             "tnull mq, native",
             "kernel",
             "null-mq",
             "native",
             "tnull-mq-none"),
        path("floor-remap",
             "floor: remap alone over tram",
             "kernel",
             "floor-remap",
             "",
             "tram-none",
             "dm-linear"),
        path("dm-linear",
             "dm-linear over tram",
             "kernel",
             "dm-linear",
             "",
             "tram-none",
             "dm-linear"),
        path("linear-none",
             "linear over tram, none",
             "kernel",
             "linear",
             "none",
             "tram-none",
             "dm-linear"),
        path("linear-5.0",
             "linear over tram, linux-5.0",
             "kernel",
             "linear",
             "linux-5.0",
             "tram-none",
             "dm-linear"),
        path("linear-4.20",
             "linear over tram, linux-4.20",
             "kernel",
             "linear",
             "linux-4.20",
             "tram-none",
             "dm-linear"),
        path("linear-native",
             "linear over tram, native",
             "kernel",
             "linear",
             "native",
             "tram-none",
             "dm-linear"),
        path("psync-tram", "psync: tram flat, none", "psync", "ram", "none"),
        path("psync-dm-linear",
             "psync: dm-linear over tram",
             "psync",
             "dm-linear",
             "",
             "psync-tram",
             "psync-dm-linear"),
        path("psync-linear-5.0",
             "psync: linear, linux-5.0",
             "psync",
             "linear",
             "linux-5.0",
             "psync-tram",
             "psync-dm-linear"),
    };
    return paths;
}

std::vector<CostFigures> measure_cost(const CostSettings &settings,
                                      const Engines &engines,
                                      Rig &rig,
                                      const Stop &stop,
                                      const Progress &progress) {
    const std::vector<CostPath> &paths = cost_paths();
    std::vector<CostFigures> all(paths.size());
    std::vector<Samples> samples(paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i)
        all[i].id = paths[i].id;

    Measurement measurement(settings, engines, rig, stop);
    for (std::uint32_t repeat = 0; repeat < settings.repeats; ++repeat)
        for (std::size_t i = 0; i < paths.size() && !stop.requested(); ++i) {
            if (!all[i].missing.empty())
                continue;
            progress(fmt::format("{} of {}: {}", repeat + 1, settings.repeats, paths[i].about));
            try {
                measurement.repeat(paths[i], samples[i]);
            } catch (const Missing &reason) {
                all[i].missing = reason.what();
            } catch (const std::system_error &error) {
                if (!stop.explains(error))
                    throw;
            }
        }

    for (std::size_t i = 0; i < paths.size(); ++i)
        summarise(all[i], samples[i]);
    for (std::size_t i = 0; i < paths.size(); ++i)
        all[i].added = paths[i].raw.empty() ? none : all[i].cost - figure(all, paths[i].raw, false);
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const double peer = paths[i].peer.empty() ? none : figure(all, paths[i].peer, true);
        all[i].of_peer = peer > 0.0 ? all[i].added / peer : none;
    }
    return all;
}

const std::vector<Gate> &cost_gates() {
    static const std::vector<Gate> gates{
        {"tnull, none", "tnull-none", false, {900, 0, ""}, {30, 1, "floor-empty"}},
        {"tram flat, none", "tram-none", false, {0, 1, "brd"}, {1000, 0, ""}},
        // As the kernel counts null_blk's I/O, too.
        {"tnull mq, native", "tnull-mq-native", false, {0, 1, "null_blk"}, {0, 0.9, "null_blk"}},
        {"tnull mq adds, linux-5.0", "tnull-mq-5.0", true, {120, 0, ""}, {80, 0, ""}},
        {"linear adds, none", "linear-none", true, {0, 0.62, "dm-linear"}, {0, 0.50, "dm-linear"}},
        {"linear adds, linux-5.0",
         "linear-5.0",
         true,
         {0, 0.66, "dm-linear"},
         {0, 0.54, "dm-linear"}},
        {"psync: linear adds, linux-5.0",
         "psync-linear-5.0",
         true,
         {0, 0.66, "psync-dm-linear"},
         {0, 0.54, "psync-dm-linear"}},
    };
    return gates;
}

const char *word(GateOutcome outcome) {
    constexpr std::array words{"reached", "ok", "over", "unjudged"};
    return words.at(static_cast<std::size_t>(outcome));
}

std::vector<GateFigures> judge_cost(const std::vector<CostFigures> &figures, bool instructions) {
    std::vector<GateFigures> all;
    for (const Gate &gate : cost_gates()) {
        GateFigures result{.gate = &gate};
        result.value = figure(figures, gate.path, gate.added);
        result.must = limit(gate.must, figures, gate.added);
        result.strive = limit(gate.strive, figures, gate.added);
        if (gate.must.constant != 0.0 && !instructions)
            result.reason = "a number of instructions, and these are nanoseconds";
        else if (!std::isfinite(result.value))
            result.reason = fmt::format("{} was not measured", gate.path);
        else if (!std::isfinite(result.must))
            result.reason = fmt::format("{} was not measured", gate.must.path);
        else if (result.must <= 0.0) // then a part of it means nothing
            result.reason = fmt::format("{} adds nothing that could be measured", gate.must.path);
        else
            // An unknown goal to strive for is never reached, and no reason not to judge.
            result.outcome = result.value > result.must      ? GateOutcome::over
                             : result.value <= result.strive ? GateOutcome::reached
                                                             : GateOutcome::ok;
        all.push_back(std::move(result));
    }
    return all;
}

} // namespace tally
