// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/experiment.hpp"

#include <csignal>
#include <set>

#include "catch.hpp"
#include "fakes.hpp"
#include "presets.hpp"

using namespace tally;
using namespace std::chrono_literals;

namespace {

constexpr auto small = R"({
    "schema": "blktally/preset/1", "name": "small", "title": "t", "baseline": "raw",
    "arms": [
        {"name": "raw", "device": "ram", "profile": "none"},
        {"name": "slow", "device": "linear", "profile": "linux-4.20"},
        {"name": "fast", "device": "linear", "profile": "linux-5.0"},
        {"name": "peer", "device": "dm-linear"}],
    "contrasts": [{"name": "fast / slow", "arm": "fast", "against": "slow", "threads": [1, 2, 64]}],
    "added": [{"arm": "fast", "than": "peer", "must": 0.66, "strive": 0.54}]})";

struct Bench {
    Preset preset = parse_preset(small, "small");
    Settings settings{.rounds = 20, .threads = 2, .cpus = {0, 1}, .slice = 100ms, .seed = 42};
    FakeEngine engine{0.01};
    FakeRig rig;
    Stop stop;

    Bench() {
        engine.iops = {
            {"raw", 1e6}, {"raw again", 1e6}, {"slow", 0.4e6}, {"fast", 0.5e6}, {"peer", 1e6 / 3}};
    }
    Rounds run() {
        return run_rounds(preset, settings, engine, rig, stop, [](const std::string &) {});
    }
};

const Judgement &named(const std::vector<Judgement> &list, const std::string &name) {
    for (const Judgement &judgement : list)
        if (judgement.name == name)
            return judgement;
    throw std::runtime_error("no judgement " + name);
}

} // namespace

TEST_CASE("the plan: A and A first, thread variants where CPUs allow") {
    Bench bench;
    std::vector<std::string> names;
    for (const Arm &arm : plan_arms(bench.preset, bench.settings))
        names.push_back(arm.name);
    CHECK(names == std::vector<std::string>{
                       "raw",
                       "raw again",
                       "slow",
                       "fast",
                       "peer",
                       "raw @1",
                       "raw again @1",
                       "fast @1",
                       "slow @1"});
    bench.settings.cpus = {0};
    bench.settings.threads = 1;
    CHECK(plan_arms(bench.preset, bench.settings).size() == 5);
}

TEST_CASE("every round has every arm once, in an order that the seed decides") {
    Bench bench;
    const Rounds rounds = bench.run();
    CHECK(rounds.done == 20);
    constexpr std::size_t arms = 9, warm = 2 * arms;
    REQUIRE(bench.rig.entered.size() == warm + 20 * arms);
    std::set<std::vector<std::string>> orders;
    for (std::size_t round = 0; round < 20; ++round) {
        const auto begin =
            bench.rig.entered.begin() + static_cast<std::ptrdiff_t>(warm + round * arms);
        const std::vector<std::string> order(begin, begin + arms);
        CHECK(std::set<std::string>(order.begin(), order.end()).size() == arms);
        orders.insert(order);
    }
    CHECK(orders.size() > 10);
    Bench again, other;
    other.settings.seed = 43;
    again.run();
    other.run();
    CHECK(again.rig.entered == bench.rig.entered);
    CHECK(other.rig.entered != bench.rig.entered);
}

TEST_CASE("arms run with their own number of threads") {
    Bench bench;
    bench.run();
    for (const Job &job : bench.engine.jobs)
        CHECK(job.threads == (job.device.ends_with("@1") ? 1U : 2U));
}

TEST_CASE("the findings are what the engine was told") {
    Bench bench;
    bench.settings.rounds = 40;
    const Findings findings = conclude(bench.preset, bench.settings, bench.run());
    CHECK(findings.resolution.at(2) < 0.02);
    CHECK(findings.resolution.at(1) < 0.02);
    CHECK(named(findings.of_baseline, "slow").verdict == Verdict::slower);
    CHECK(std::abs(named(findings.of_baseline, "slow").ratio - 0.4) < 0.01);
    CHECK(named(findings.contrasts, "fast / slow @2").verdict == Verdict::faster);
    CHECK(std::abs(named(findings.contrasts, "fast / slow @2").ratio - 1.25) < 0.02);
    CHECK(named(findings.contrasts, "fast / slow @1").verdict == Verdict::same);
    // raw 2 us, fast 4 us, peer 6 us of two processors: 2 of 4.
    REQUIRE(findings.added.size() == 1);
    CHECK(std::abs(findings.added[0].ratio - 0.5) < 0.03);
    CHECK(findings.added[0].interval.low < findings.added[0].ratio);
    CHECK(std::abs(findings.arms[0].ns - 2000) < 30);
}

TEST_CASE("each number of threads has its own resolution") {
    Bench bench;
    bench.engine.iops["raw again @1"] = 1.5e6; // one thread's figures are worth little here
    bench.engine.iops["fast @1"] = 1.2e6;
    const Findings findings = conclude(bench.preset, bench.settings, bench.run());
    CHECK(findings.resolution.at(2) < 0.02);
    CHECK(findings.resolution.at(1) > 0.4);
    CHECK(named(findings.contrasts, "fast / slow @2").verdict == Verdict::faster);
    CHECK(named(findings.contrasts, "fast / slow @1").verdict == Verdict::undecided);
}

TEST_CASE("added time is judged by its interval, and only as a part of something") {
    Bench bench;
    const auto outcome_with = [&](double fast, double peer) {
        bench.engine.iops["fast"] = fast;
        bench.engine.iops["peer"] = peer;
        return std::string(
            outcome(conclude(bench.preset, bench.settings, bench.run()).added.at(0)));
    };
    CHECK(outcome_with(0.5e6, 1e6 / 3) == "reached");  // 2 of 4
    CHECK(outcome_with(1e6 / 2.2, 1e6 / 3) == "ok");   // 2.4 of 4
    CHECK(outcome_with(1e6 / 2.5, 1e6 / 3) == "over"); // 3 of 4
    CHECK(outcome_with(0.5e6, 1e6) == "unknown");      // of nothing
    CHECK(outcome_with(0.5e6, 1.1e6) == "unknown");    // of less
    bench.settings.rounds = 5;
    CHECK(outcome_with(0.5e6, 1e6 / 3) == "unknown");

    AddedFigures figures{{"a", "b", 0.66, 0.54}, 0.6, {0.5, 0.7}};
    CHECK(std::string(outcome(figures)) == "undecided");
    figures.interval = {0.5, 0.66};
    CHECK(std::string(outcome(figures)) == "ok");
}

TEST_CASE("a missing peer is skipped with its reason, the rest goes on") {
    Bench bench;
    bench.rig.missing = {"dm-linear"};
    const Rounds rounds = bench.run();
    const Findings findings = conclude(bench.preset, bench.settings, rounds);
    CHECK(findings.arms[4].missing == "no dm-linear here");
    CHECK_THROWS(named(findings.of_baseline, "peer"));
    CHECK(named(findings.of_baseline, "fast").rounds == 20);
    CHECK(std::isnan(findings.added[0].ratio));
}

TEST_CASE("nothing is measured without a baseline") {
    Bench bench;
    bench.rig.missing = {"ram"};
    CHECK_THROWS_AS(bench.run(), Missing);
}

TEST_CASE("failed turns give no figure") {
    Bench bench;
    bench.engine.failing = {"fast"};
    const Rounds rounds = bench.run();
    const Findings findings = conclude(bench.preset, bench.settings, rounds);
    CHECK(named(findings.of_baseline, "fast").rounds == 0);
    CHECK(named(findings.of_baseline, "fast").verdict == Verdict::undecided);
    CHECK(rounds.series[3].errors >= 20);
}

TEST_CASE("a turn that a stray signal cut short is taken once more") {
    Bench bench;
    const std::size_t warm = 2 * plan_arms(bench.preset, bench.settings).size();
    bench.engine.interrupted = {warm + 1, warm + 3, warm + 4};
    std::size_t figures = 0;
    for (const Series &series : bench.run().series)
        figures += std::isfinite(series.iops.front());
    CHECK(figures == warm / 2 - 1); // the second of its kind in one turn is given up
    CHECK(bench.engine.jobs.size() == warm * 11 + 2);
}

TEST_CASE("a stop ends the run at once and keeps whole rounds apart from broken ones") {
    Bench bench;
    bench.engine.on_run = [&](std::size_t turn) {
        if (turn == 18 + 9 * 5 + 3)
            bench.stop.request(SIGINT);
    };
    const Rounds rounds = bench.run();
    CHECK(rounds.interrupted);
    CHECK(rounds.done == 5);
    CHECK(bench.engine.jobs.size() == 18 + 9 * 5 + 3);
    CHECK_NOTHROW(conclude(bench.preset, bench.settings, rounds));
}

TEST_CASE("a stop while warming up leaves nothing to divide by") {
    Bench bench;
    bench.stop.request(SIGTERM);
    const Rounds rounds = bench.run();
    CHECK(rounds.done == 0);
    const Findings findings = conclude(bench.preset, bench.settings, rounds);
    CHECK(findings.contrasts.at(0).verdict == Verdict::undecided);
}

TEST_CASE("the budget decides the slice, within limits") {
    Bench bench;
    bench.settings.slice = 0ms;
    bench.settings.budget = 9 * 20 * 100ms;
    const Rounds rounds = bench.run();
    CHECK(rounds.slice > 90ms);
    CHECK(rounds.slice <= 100ms);
    CHECK(rounds.planned <= 18s);
    bench.settings.budget = 1ms;
    CHECK(bench.run().slice == 20ms);
    bench.settings.budget = 24h;
    CHECK(bench.run().slice == 400ms);
}

TEST_CASE("the built-in presets stand") {
    std::set<std::string> names;
    for (std::string_view text : preset_texts) {
        const Preset preset = parse_preset(text, "built in");
        names.insert(preset.name);
        CHECK(preset.published.size() >= 1);
        CHECK(preset.contrasts.size() >= 3);
    }
    CHECK(names.contains("percpu-2018"));
    CHECK(names.contains("pending-2018"));
}

TEST_CASE("a preset with a fault is refused by name") {
    const auto with = [](const std::string &from, const std::string &to) {
        std::string text = small;
        text.replace(text.find(from), from.size(), to);
        return text;
    };
    CHECK_THROWS_WITH(parse_preset("{", "x"), "x: not JSON");
    CHECK_THROWS_WITH(parse_preset(with("\"raw\",\n", "\"row\",\n"), "x"),
                      "small: there is no arm \"row\"");
    CHECK_THROWS_WITH(parse_preset(with("title", "tilte"), "x"), "x: unknown word \"tilte\"");
    CHECK_THROWS_WITH(parse_preset(with("\"must\": 0.66", "\"must\": \"x\""), "x"),
                      "x: added[0]: \"must\" has the wrong type");
    for (const std::string number : {"4294967808", "-512", "512.9", "true"})
        CHECK_THROWS_WITH(parse_preset(with("[1, 2, 64]", "[1, " + number + "]"), "x"),
                          "x: contrasts[0]: \"threads\" is " + number +
                              ": must be a whole number up to 4294967295");
    // As deep as a file likes: neither shown nor walked through, which takes stack.
    const std::string deep = std::string(300000, '[') + std::string(300000, ']');
    for (const std::string &list : {std::string("[]"), std::string("[{}]"), deep})
        CHECK_THROWS_WITH(parse_preset(with("[1, 2, 64]", "[" + list + "]"), "x"),
                          "x: contrasts[0]: \"threads\" has the wrong type");
    CHECK_THROWS_WITH(parse_preset(with("\"slow\", \"device\"", "\"raw\", \"device\""), "x"),
                      "small: two arms \"raw\"");
    CHECK_THROWS_WITH(parse_preset(with("\"none\"", "\"none\", \"lower\": \"none\""), "x"),
                      "x: arms[0]: \"lower\" needs the device \"linear\"");
    CHECK_THROWS_WITH(parse_preset(with("preset/1", "preset/2"), "x"),
                      "x: \"schema\" must be \"blktally/preset/1\"");
}
