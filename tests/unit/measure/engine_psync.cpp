// SPDX-License-Identifier: GPL-2.0-or-later
#include <chrono>
#include <csignal>
#include <thread>

#include <pthread.h>

#include "catch.hpp"
#include "measure/engine.hpp"
#include "measure/file.hpp"
#include "scratch.hpp"

using namespace tally;
using namespace std::chrono_literals;

namespace {

struct Bench {
    Scratch file{1 << 20};
    Stop stop;
    std::unique_ptr<Engine> engine = make_psync_engine();
    Job job{.device = file.path(), .block_bytes = 4096};

    Bench() {
        if (!file.direct())
            WARN("no direct I/O here: the engine cannot be tested");
    }
    explicit operator bool() const { return file.direct(); }
    Result run() { return engine->run(job, stop); }
};

std::chrono::nanoseconds timed(const std::function<void()> &action) {
    const auto begin = std::chrono::steady_clock::now();
    action();
    return std::chrono::steady_clock::now() - begin;
}

} // namespace

TEST_CASE("psync does the I/Os that were asked for, per thread and in total") {
    Bench bench;
    if (!bench)
        return;
    bench.job.ios = 300; // more than fit: the walk starts again
    bench.job.threads = 3;
    const Result result = bench.run();
    REQUIRE(result.threads.size() == 3);
    for (const Count &thread : result.threads) {
        CHECK(thread.ios == 300);
        CHECK(thread.bytes == 300 * 4096);
        CHECK(thread.ns > 0);
        CHECK(thread.ns <= result.total.ns);
    }
    CHECK(result.total.ios == 900);
    CHECK(result.total.bytes == 900 * 4096);
    CHECK(result.total.errors == 0);
    CHECK_FALSE(result.interrupted);
}

TEST_CASE("psync runs for the time that was asked for") {
    Bench bench;
    if (!bench)
        return;
    bench.job.duration = 200ms;
    bench.job.random = true;
    const Result result = bench.run();
    CHECK(result.total.ns >= 190000000);
    CHECK(result.total.ns < 2000000000);
    CHECK(result.total.ios > 0);
    // Whichever comes first.
    bench.job.duration = 1h;
    bench.job.ios = 1;
    CHECK(timed([&] { CHECK(bench.run().total.ios == 1); }) < 60s);
}

TEST_CASE("psync writes where it should") {
    Bench bench;
    if (!bench)
        return;
    bench.job.write = bench.job.force = true;
    bench.job.offset = 4096;
    bench.job.size = 8192;
    bench.job.ios = 5;
    CHECK(bench.run().total.ios == 5);
    const std::string text = read_text(bench.file.path()).value();
    CHECK(text.find_first_not_of('\0') == 4096);
    CHECK(text.find_last_not_of('\0') == 4096 + 8192 - 1);
}

TEST_CASE("an error ends the thread and is counted, not the I/O") {
    Bench bench;
    if (!bench)
        return;
    bench.job.duration = 10s;
    std::thread cutter([&] {
        std::this_thread::sleep_for(100ms);
        CHECK(truncate(bench.file.path().c_str(), 0) == 0);
    });
    Result result;
    const auto taken = timed([&] { result = bench.run(); });
    cutter.join();
    CHECK(taken < 8s);
    CHECK(result.total.errors == 1);
    CHECK(result.total.error == -EIO);
    CHECK(result.total.bytes == result.total.ios * 4096);
}

TEST_CASE("a stop gives what was done so far") {
    Bench bench;
    if (!bench)
        return;
    bench.job.duration = 1h;
    bench.job.threads = 2;
    std::thread stopper([&] {
        std::this_thread::sleep_for(100ms);
        bench.stop.request(SIGINT);
    });
    Result result;
    CHECK(timed([&] { result = bench.run(); }) < 60s);
    stopper.join();
    CHECK(result.interrupted);
    CHECK(result.total.ios > 0);
    // And one that came before the start.
    CHECK(timed([&] { result = bench.run(); }) < 60s);
    CHECK(result.interrupted);
}

TEST_CASE("signals that are none of our business do not end a run") {
    Bench bench;
    if (!bench)
        return;
    struct sigaction action {
    }, before{};
    action.sa_handler = [](int) {};
    sigaction(SIGWINCH, &action, &before);
    bench.job.duration = 300ms;
    const pthread_t self = pthread_self();
    std::thread sender([self] {
        for (int i = 0; i < 20; ++i) {
            std::this_thread::sleep_for(10ms);
            pthread_kill(self, SIGWINCH);
        }
    });
    const Result result = bench.run();
    sender.join();
    sigaction(SIGWINCH, &before, nullptr);
    CHECK(result.total.ns >= 290000000);
    CHECK(result.total.errors == 0);
}

TEST_CASE("many threads start together") {
    Bench bench;
    if (!bench)
        return;
    bench.job.threads = 200;
    bench.job.ios = 2;
    CHECK(bench.run().total.ios == 400);
}

TEST_CASE("psync refuses what it cannot do") {
    Bench bench;
    bench.job.ios = 1;
    bench.job.depth = 2;
    CHECK_THROWS_AS(bench.run(), UsageError);
    bench.job.depth = 1;
    bench.job.cpus = {8000};
    CHECK_THROWS_AS(bench.run(), UsageError);
    bench.job.cpus = {};
    bench.job.device = "/nowhere/at/all";
    CHECK_THROWS_AS(bench.run(), std::system_error);
}

TEST_CASE("engines are found by name") {
    CHECK(std::string(engine_kind("psync").name) == "psync");
    CHECK(engine_kind("kernel").needs_control);
    CHECK_THROWS_AS(engine_kind("aio"), UsageError);
}
