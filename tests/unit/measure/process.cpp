// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/process.hpp"

#include <chrono>
#include <csignal>
#include <thread>

#include "catch.hpp"
#include "measure/file.hpp"
#include "measure/stop.hpp"
#include "measure/table.hpp"

using namespace tally;
using namespace std::chrono_literals;

TEST_CASE("a tool's status and words come back") {
    const Finished good = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
    CHECK(good.status == 3);
    CHECK(good.output == "out\nerr");
    CHECK(run_process({"no-such-program-here"}).status == 127);
    CHECK(run_process({"sh", "-c", "kill -TERM $$"}).status == 128 + SIGTERM);
    CHECK(run_process({"printf", "%s", "a b;$c"}).output == "a b;$c");
    // More than a pipe holds.
    CHECK(run_process({"head", "-c", "300000", "/dev/zero"}).output.size() == 300000);
}

TEST_CASE("a stop wakes whoever waits, now or later") {
    Stop stop;
    const auto begin = std::chrono::steady_clock::now();
    stop.wait(20ms);
    CHECK(std::chrono::steady_clock::now() - begin >= 20ms);
    CHECK_FALSE(stop.requested());
    std::thread thread([&] {
        std::this_thread::sleep_for(20ms);
        stop.request(SIGTERM);
    });
    stop.wait(1h);
    thread.join();
    CHECK(stop.signal() == SIGTERM);
    stop.wait(1h);
}

TEST_CASE("a file is replaced whole") {
    replace_text("replaced.json", "one");
    replace_text("replaced.json", "two");
    CHECK(read_text("replaced.json") == "two");
    CHECK_FALSE(read_text("replaced.json.new"));
    // Nobody else's file is touched, and a link stays one.
    write_text("replaced.json.new", "precious");
    std::filesystem::create_symlink("replaced.json", "link.json");
    replace_text("link.json", "three");
    CHECK(std::filesystem::is_symlink("link.json"));
    CHECK(read_text("replaced.json") == "three");
    CHECK(read_text("replaced.json.new") == "precious");
    require_replaceable("link.json");
    CHECK(read_text("replaced.json") == "three");
    CHECK_THROWS_AS(require_replaceable("/nowhere/at/all"), std::system_error);
    std::filesystem::remove("link.json");
    std::filesystem::remove("replaced.json.new");
    CHECK_NOTHROW(replace_text("/dev/null", "x"));
    CHECK_THROWS_AS(replace_text("/nowhere/at/all", "x"), std::system_error);
    std::filesystem::remove("replaced.json");
}

TEST_CASE("columns line up, also round letters of two bytes") {
    Table table({"name", "n"});
    table.add({"a×b", "1"});
    table.add({"abcd", "100"});
    CHECK(table.text() == "name    n\na×b     1\nabcd  100\n");
    CHECK(fixed(std::stod("nan"), 1) == "-");
    CHECK(percent(0.5) == "50.0 %");
}
