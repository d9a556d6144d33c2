// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/amount.hpp"

#include "catch.hpp"
#include "measure/cpus.hpp"
#include "measure/job.hpp"

using namespace tally;
using namespace std::chrono_literals;

TEST_CASE("counts are digits in a range") {
    CHECK(parse_count("--jobs", "1", 1, 9) == 1);
    CHECK(parse_count("--jobs", "9", 1, 9) == 9);
    for (const char *text : {"",
                             "0",
                             "10",
                             "x",
                             "1x",
                             "-1",
                             "+1",
                             " 1",
                             "1 ",
                             "0x1",
                             "1e3",
                             "1000000000",
                             "18446744073709551616"})
        CHECK_THROWS_AS(parse_count("--jobs", text, 1, 9), UsageError);
    try {
        parse_count("--jobs", "10", 1, 9);
        FAIL("accepted");
    } catch (const UsageError &error) {
        CHECK(std::string(error.what()) == "--jobs \"10\": must be a number, 1 to 9");
    }
}

TEST_CASE("bytes take K, M and G") {
    CHECK(parse_bytes("--bs", "512") == 512);
    CHECK(parse_bytes("--bs", "4k") == 4096);
    CHECK(parse_bytes("--bs", "4K") == 4096);
    CHECK(parse_bytes("--bs", "3M") == 3U << 20);
    CHECK(parse_bytes("--bs", "17179869183G") == 17179869183ULL << 30);
    for (const char *text :
         {"", "k", "-1", "4kb", "4T", "17179869184G", "1.5k", "99999999999999999999"})
        CHECK_THROWS_AS(parse_bytes("--bs", text), UsageError);
}

TEST_CASE("times are seconds unless they say so") {
    CHECK(parse_time("--runtime", "2") == 2s);
    CHECK(parse_time("--runtime", "0.5") == 500ms);
    CHECK(parse_time("--runtime", "0.5s") == 500ms);
    CHECK(parse_time("--runtime", "400ms") == 400ms);
    CHECK(parse_time("--runtime", "7us") == 7us);
    for (const char *text : {"",
                             "0",
                             "0.0",
                             "-1",
                             "1e9",
                             "inf",
                             "nan",
                             "1 s",
                             "1m",
                             "ms",
                             ".",
                             "86401",
                             "99999999999999999999999"})
        CHECK_THROWS_AS(parse_time("--runtime", text), UsageError);
}

TEST_CASE("fractions") {
    CHECK(parse_fraction("--margin", "2%") == 0.02);
    CHECK(parse_fraction("--margin", "0.02") == 0.02);
    for (const char *text : {"", "0", "0%", "1", "100%", "-2%", "2 %", "nan"})
        CHECK_THROWS_AS(parse_fraction("--margin", text), UsageError);
}

TEST_CASE("CPU lists are the kernel's") {
    CHECK(parse_cpus("0") == Cpus{0});
    CHECK(parse_cpus("0-3,8") == Cpus{0, 1, 2, 3, 8});
    CHECK(parse_cpus("3,1") == Cpus{3, 1});
    CHECK(parse_cpus("1,0-2") == Cpus{1, 0, 2});
    for (const char *text :
         {"", "a", "0-", "-1", "3-1", "0,", ",0", "0 1", "0-1-2", "8192", "0-99999999999", "1,,2"})
        CHECK_THROWS_AS(parse_cpus(text), UsageError);
    CHECK(format_cpus({0, 1, 2, 3, 8}) == "0-3,8");
    CHECK(format_cpus({5}) == "5");
    CHECK(format_cpus({}).empty());
}

TEST_CASE("a CPU that is off line is named, with those that are on line") {
    CHECK_NOTHROW(require_online({0, 2}, {0, 1, 2, 4}));
    try {
        require_online({0, 3}, {0, 1, 2, 4});
        FAIL("accepted");
    } catch (const UsageError &error) {
        CHECK(std::string(error.what()) == "CPU 3 is not on line: 0-2,4 are");
    }
}

TEST_CASE("a job that makes no sense is refused") {
    const Job good{.device = "x", .ios = 1};
    CHECK_NOTHROW(check(good));
    const auto refused = [&](auto change) {
        Job job = good;
        change(job);
        CHECK_THROWS_AS(check(job), UsageError);
    };
    refused([](Job &job) { job.threads = 0; });
    refused([](Job &job) { job.threads = threads_max + 1; });
    refused([](Job &job) { job.depth = 0; });
    refused([](Job &job) { job.depth = 1000000000; });
    refused([](Job &job) { job.block_bytes = 0; });
    refused([](Job &job) { job.block_bytes = 513; });
    refused([](Job &job) { job.block_bytes = 2 * block_max; });
    refused([](Job &job) { job.offset = 1; });
    refused([](Job &job) {
        job.block_bytes = 4096;
        job.size = 512;
    });
    refused([](Job &job) { job.ios = 0; });
}

TEST_CASE("rates of nothing are nothing") {
    CHECK(iops({}) == 0.0);
    CHECK(bytes_per_second({}) == 0.0);
    CHECK(iops({.ios = 3, .ns = 0}) == 0.0);
    CHECK(iops({.ios = 1, .ns = 1}) == 1e9);
}
