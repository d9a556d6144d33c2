// SPDX-License-Identifier: GPL-2.0-or-later
#include <csignal>

#include "catch.hpp"
#include "measure/environment.hpp"
#include "measure/experiment_report.hpp"
#include "measure/run_report.hpp"

using namespace tally;

namespace {

RunReport report_of(Result result) {
    RunReport report{
        .engine = "psync", .job = {.device = "a\"b\\c", .ios = 1}, .result = std::move(result)};
    report.environment = environment(1);
    return report;
}

// One arm that was measured, with or without a trend, and one busy-time row.
ExperimentReport experiment_of(double drift_p, bool emulated) {
    ExperimentReport report;
    report.environment = environment(1);
    report.environment["emulated"] = emulated;
    EngineOutcome engine;
    ArmFigures &arm = engine.findings.arms.emplace_back();
    arm.drift = 0.3;
    arm.drift_p = drift_p;
    report.engines.push_back(std::move(engine));
    report.busy.push_back({.model = "exact", .workload = "load"});
    return report;
}

bool says(const ExperimentReport &report, const std::string &words) {
    return to_text(report).find(words) != std::string::npos;
}

} // namespace

TEST_CASE("a run without a single I/O is a document all the same") {
    Result nothing;
    nothing.threads.resize(2);
    const Json json = Json::parse(dump(to_json(report_of(nothing))));
    CHECK(json["jobs"].size() == 2);
    CHECK(json["total"]["read"]["iops"] == 0.0);
    CHECK(json["total"]["read"]["bw_bytes"] == 0.0);
    CHECK(json["options"]["device"] == "a\"b\\c");
    CHECK_FALSE(to_text(report_of(nothing)).empty());
}

TEST_CASE("figures are fio's: bytes, I/Os, milliseconds") {
    const Count one{.ios = 1000, .bytes = 512000, .ns = 500000000, .cpu = 1};
    const Json json = to_json(report_of({.total = one, .threads = {one}}));
    const Json &read = json["jobs"][0]["read"];
    CHECK(read["io_bytes"] == 512000);
    CHECK(read["bw_bytes"] == 1024000.0);
    CHECK(read["iops"] == 2000.0);
    CHECK(read["runtime"] == 500.0);
    CHECK(read["total_ios"] == 1000);
    CHECK(json["jobs"][0]["write"]["total_ios"] == 0);
    CHECK(json["jobs"][0]["cpu"] == 1);
}

TEST_CASE("a partial result says so, in both forms") {
    RunReport report = report_of({});
    report.signal = SIGINT;
    CHECK(to_json(report)["partial"] == true);
    CHECK(to_json(report)["signal"] == SIGINT);
    CHECK(to_text(report).find("PARTIAL") != std::string::npos);
    CHECK(to_json(report_of({}))["partial"] == false);
    const RunReport interrupted = report_of({.interrupted = true}); // by a signal not meant for us
    CHECK(to_json(interrupted)["partial"] == true);
    CHECK(to_text(interrupted).find("PARTIAL") != std::string::npos);
}

TEST_CASE("an experiment's tables say how they are to be read") {
    const ExperimentReport report = experiment_of(1.0, false);
    CHECK(says(report, "not ratios of the kIOPS shown"));
    CHECK(says(report, "(Holm)"));
    CHECK(says(report, "what the caller waited"));
    CHECK_FALSE(says(report, "not steady"));
    CHECK_FALSE(says(report, "EMULATED"));
    CHECK(says(experiment_of(0.001, false), "not steady"));
    CHECK(to_text(experiment_of(1.0, true)).ends_with("real CPUs.\n"));

    ExperimentReport skipped = experiment_of(0.001, false);
    skipped.engines[0].findings.arms[0].missing = "no brd here";
    CHECK_FALSE(says(skipped, "not steady"));
    ExperimentReport nothing = experiment_of(1.0, false);
    nothing.engines.clear();
    nothing.busy.clear();
    CHECK_FALSE(says(nothing, "kIOPS"));
    CHECK_FALSE(says(nothing, "true ms"));
}
