// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/device.hpp"

#include "catch.hpp"
#include "scratch.hpp"

using namespace tally;

TEST_CASE("the span is whole blocks inside the file") {
    const Scratch file(10000);
    Job job{.device = file.path(), .block_bytes = 4096, .ios = 1};
    CHECK(Device(job).size() == 8192);
    job.offset = 4096;
    CHECK(Device(job).size() == 4096);
    CHECK(Device(job).offset() == 4096);
    job.size = 4096;
    CHECK(Device(job).size() == 4096);
    job.size = 8192;
    CHECK_THROWS_AS(Device(job), UsageError);
    job.size = ~0ULL - 511; // offset + size wraps
    CHECK_THROWS_AS(Device(job), UsageError);
    job.size = 0;
    job.offset = 8192;
    CHECK_THROWS_AS(Device(job), UsageError);
    job.offset = 1ULL << 40;
    CHECK_THROWS_AS(Device(job), UsageError);
}

TEST_CASE("nothing foreign is written to unless forced") {
    const Scratch file(8192);
    Job job{.device = file.path(), .write = true, .ios = 1};
    CHECK_THROWS_AS(Device(job), PermissionError);
    job.force = true;
    CHECK_NOTHROW(Device(job));
}

TEST_CASE("what is not there, and what is no disk") {
    CHECK_THROWS_AS(Device(Job{.device = "/nowhere/at/all"}), std::system_error);
    CHECK_THROWS_AS(Device(Job{.device = "/dev/null"}), UsageError);
    CHECK_THROWS_AS(Device(Job{.device = "/"}), UsageError);
    CHECK_FALSE(is_ours(1, 3));
}
