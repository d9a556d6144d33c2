// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/cost.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>

#include "catch.hpp"
#include "fakes.hpp"

using namespace tally;

namespace {

struct Bench {
    CostSettings settings{.ios = 1000, .warm_up = 10, .repeats = 3, .instructions = true};
    FakeEngine engine;
    FakeRig rig;
    Stop stop;

    // Costs in ns per I/O.
    void costs(const std::map<std::string, double> &table) {
        for (const auto &[id, ns] : table)
            engine.iops[id] = 1e9 / ns;
    }
    Bench() {
        costs({{"floor-empty", 830},
               {"tnull-none", 850},
               {"tram-none", 1000},
               {"brd", 1189},
               {"dm-linear", 3000},
               {"linear-none", 2100},
               {"linear-5.0", 2400},
               {"psync-tram", 4000},
               {"psync-dm-linear", 6000},
               {"psync-linear-5.0", 5000}});
    }
    std::vector<CostFigures> run() {
        const Engines engines{{"kernel", &engine}, {"psync", &engine}};
        return measure_cost(settings, engines, rig, stop, [](const std::string &) {});
    }
};

const CostFigures &named(const std::vector<CostFigures> &all, const std::string &id) {
    return *std::find_if(all.begin(), all.end(), [&](const CostFigures &f) { return f.id == id; });
}

GateOutcome outcome(const std::vector<GateFigures> &all, const std::string &path) {
    return std::find_if(
               all.begin(), all.end(), [&](const GateFigures &g) { return g.gate->path == path; })
        ->outcome;
}

} // namespace

TEST_CASE("added cost is what lies above raw, and is held against the peer's") {
    Bench bench;
    const auto figures = bench.run();
    CHECK(std::abs(named(figures, "linear-5.0").cost - 2400) < 1);
    CHECK(std::abs(named(figures, "linear-5.0").added - 1400) < 1);
    CHECK(std::abs(named(figures, "linear-5.0").of_peer - 0.7) < 0.001);
    CHECK(std::abs(named(figures, "psync-linear-5.0").of_peer - 0.5) < 0.001);
    CHECK(std::isnan(named(figures, "brd").added));
}

TEST_CASE("gates: reached, ok and over") {
    Bench bench;
    const auto gates = judge_cost(bench.run(), true);
    CHECK(outcome(gates, "tnull-none") == GateOutcome::reached); // 850 <= 830 + 30
    CHECK(outcome(gates, "linear-none") == GateOutcome::ok);     // 0.55
    CHECK(outcome(gates, "linear-5.0") == GateOutcome::over);    // 0.70
    CHECK(outcome(gates, "psync-linear-5.0") == GateOutcome::reached);
    bench.costs({{"tnull-none", 901}, {"tram-none", 1190}});
    const auto worse = judge_cost(bench.run(), true);
    CHECK(outcome(worse, "tnull-none") == GateOutcome::over);
    CHECK(outcome(worse, "tram-none") == GateOutcome::over);
}

TEST_CASE("what was not measured is not judged, and says so") {
    Bench bench;
    bench.rig.missing = {"dm-linear", "floor-empty"};
    const auto figures = bench.run();
    CHECK(named(figures, "dm-linear").missing == "no dm-linear here");
    const auto gates = judge_cost(figures, true);
    CHECK(outcome(gates, "linear-none") == GateOutcome::unjudged);
    CHECK(outcome(gates, "tnull-none") == GateOutcome::ok); // the floor is for the goal alone
    for (const GateFigures &gate : gates)
        CHECK(gate.reason.empty() == (gate.outcome != GateOutcome::unjudged));
}

TEST_CASE("a peer that adds nothing is no yardstick") {
    Bench bench;
    bench.costs({{"dm-linear", 900}});
    CHECK(outcome(judge_cost(bench.run(), true), "linear-5.0") == GateOutcome::unjudged);
}

TEST_CASE("numbers of instructions do not judge nanoseconds") {
    Bench bench;
    const auto gates = judge_cost(bench.run(), false);
    CHECK(outcome(gates, "tnull-none") == GateOutcome::unjudged);
    CHECK(outcome(gates, "linear-5.0") == GateOutcome::over); // a ratio has no unit
}

TEST_CASE("failing I/O and early ends have no cost") {
    Bench bench;
    bench.engine.failing = {"brd"};
    CHECK(named(bench.run(), "brd").missing == "1 of its I/Os failed");
    bench.stop.request(SIGINT);
    for (const CostFigures &figures : bench.run())
        CHECK_FALSE(figures.missing.empty());
}
