// SPDX-License-Identifier: GPL-2.0-or-later
#include <csignal>

#include "catch.hpp"
#include "measure/environment.hpp"
#include "measure/run_report.hpp"

using namespace tally;

namespace {

RunReport report_of(Result result) {
    RunReport report{
        .engine = "psync", .job = {.device = "a\"b\\c", .ios = 1}, .result = std::move(result)};
    report.environment = environment(1);
    return report;
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
