// SPDX-License-Identifier: GPL-2.0-or-later
// Prints one document that only a machine with the modules could give, made with the fakes:
// "experiment", "cost", or either with "partial", where nothing was measured.
#include <cstdio>
#include <cstring>

#include "fakes.hpp"
#include "measure/cost_report.hpp"
#include "measure/environment.hpp"
#include "measure/experiment_report.hpp"
#include "presets.hpp"

using namespace tally;

namespace {

void quiet(const std::string &) {}

Json experiment(const Stop &stop) {
    FakeEngine engine(0.05);
    FakeRig rig;
    rig.missing = {"brd"};
    ExperimentReport report{
        .preset = parse_preset(preset_texts.front(), "built in"),
        .settings = {.rounds = 10, .threads = 2, .slice = std::chrono::milliseconds(1)}};
    Rounds rounds = run_rounds(report.preset, report.settings, engine, rig, stop, quiet);
    Findings findings = conclude(report.preset, report.settings, rounds);
    report.engines.push_back({std::move(rounds), std::move(findings)});
    report.busy = {{.model = "exact", .workload = "none"}, {"round", "some", 10, 9.0, 8.0, 100.0}};
    report.messages = {"a \"message\""};
    report.environment = environment(1);
    report.signal = stop.signal();
    std::fputs(to_text(report).c_str(), stderr);
    return to_json(report);
}

Json cost(const Stop &stop) {
    FakeEngine engine(0.01);
    FakeRig rig;
    rig.missing = {"null_blk", "floor-empty"};
    CostReport report;
    report.figures =
        measure_cost(report.settings, {{"kernel", &engine}, {"psync", &engine}}, rig, stop, quiet);
    report.gates = judge_cost(report.figures, true);
    report.environment = environment(1);
    report.signal = stop.signal();
    std::fputs(to_text(report).c_str(), stderr);
    return to_json(report);
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    Stop stop;
    if (argc > 2 && std::strcmp(argv[2], "partial") == 0)
        stop.request(2);
    const Json document = std::strcmp(argv[1], "cost") == 0 ? cost(stop) : experiment(stop);
    std::fputs(dump(document).c_str(), stdout);
    return 0;
}
