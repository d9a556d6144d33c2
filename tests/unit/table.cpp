// SPDX-License-Identifier: GPL-2.0-or-later
#include "blktally/table.hpp"

#include "blktally/error.hpp"
#include "blktally/fd.hpp"
#include "catch.hpp"

#include <cerrno>
#include <csignal>
#include <thread>

#include <unistd.h>

using namespace tally;

namespace {

// Reads what another thread writes into a pipe, `step` bytes at a time.
std::string piped(const std::string& text, std::size_t step, std::size_t limit = table_limit()) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    Fd in(ends[0]);
    std::thread writer([&, out = Fd(ends[1])] {
        for (std::size_t at = 0; at < text.size(); at += step)
            if (write(out.get(), text.data() + at, std::min(step, text.size() - at)) < 0)
                return; // the reader has seen enough
    });
    std::string got;
    std::exception_ptr failure;
    try {
        got = read_table(in.get(), limit);
    } catch (...) {
        failure = std::current_exception();
    }
    in = Fd();
    writer.join();
    if (failure)
        std::rethrow_exception(failure);
    return got;
}

std::string table_of(std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; text.size() < bytes; ++i)
        text += std::to_string(i) + " 1 linear 8:0 " + std::to_string(i) + "\n";
    text.resize(bytes);
    return text;
}

template <class Call> Error refused(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    FAIL("it was not refused");
    std::abort();
}

DeviceNumber sda(const std::string& path) {
    if (path == "/dev/sda")
        return {8, 0};
    throw errno_error(ENOENT, path);
}

} // namespace

TEST_CASE("tables are read whole, however they come") {
    signal(SIGPIPE, SIG_IGN);
    for (std::size_t kib : {1, 127, 128, 129, 4096}) {
        const std::string text = table_of(kib * 1024);
        CHECK(piped(text, 65536) == text);
        CHECK(piped(text, 4097) == text);
    }
    for (std::size_t kib : {127, 128, 129}) {
        const std::string text = table_of(kib * 1024);
        CHECK(piped(text, 1) == text);
    }
    CHECK(piped("", 1).empty());
    CHECK(piped("x", 1) == "x");
}

TEST_CASE("a table beyond the limit names the limit") {
    signal(SIGPIPE, SIG_IGN);
    for (std::size_t bytes : {table_limit() + 1, std::size_t{5} << 20}) {
        Error error = refused([&] { piped(table_of(bytes), 65536); });
        CHECK(error.code().value() == E2BIG);
        CHECK(std::string(error.what()).find("4194304") != std::string::npos);
    }
    CHECK(piped("1234", 1, 4) == "1234");
    CHECK(refused([] { piped("12345", 1, 4); }).code().value() == E2BIG);
}

TEST_CASE("a table that cannot be read") {
    CHECK(refused([] { read_table(-1); }).code().value() == EBADF);
}

TEST_CASE("empty tables") {
    for (auto text : {"", "\n", " \t\r\n", "# c", "\n\n  # c\n"})
        CHECK(table_is_empty(text));
    CHECK_FALSE(table_is_empty("x"));
    CHECK(parse_table("").empty());
}

TEST_CASE("segments") {
    auto segments =
        parse_table("# two\r\n0 10  linear\t8:0 0 \r\n\n 10 0005 striped 2 128 8:0 0 8:16 0");
    REQUIRE(segments.size() == 2);
    CHECK(segments[0].target == "linear");
    CHECK(segments[0].args == "8:0 0");
    CHECK(segments[1].start == 10);
    CHECK(segments[1].length == 5);
    CHECK(segments[1].args == "2 128 8:0 0 8:16 0");
    CHECK(parse_table("0 1 zero").at(0).args.empty());
    CHECK(parse_table("0 18446744073709551615 zero").size() == 1);
}

TEST_CASE("refusals name line and word") {
    struct Case {
        const char *text, *where, *why;
    };
    for (auto [text, where, why] : {
             Case{"0", "line 1, word 2", "length is missing"},
             Case{"\n# c\n\n0 1", "line 4, word 3", "target is missing"},
             Case{"0 1 linear\n1bla 1 linear", "line 2, word 1", "\"1bla\" is not a number"},
             Case{"0 0x10 linear", "line 1, word 2", "\"0x10\" is not a number"},
             Case{"+0 1 linear", "line 1, word 1", "not a number"},
             Case{"0 18446744073709551616 linear", "line 1, word 2", "too large"},
             Case{"0 0 linear", "line 1, word 2", "0"},
             Case{"1 1 linear", "line 1, word 1", "gap"},
             Case{"0 2 linear\n1 2 linear", "line 2, word 1", "overlap"},
             Case{"0 2 linear\n3 2 linear", "line 2, word 1", "gap"},
             Case{"0 18446744073709551615 a\n18446744073709551615 1 a", "line 2, word 2", "wraps"},
         }) {
        Error error = refused([&, text = text] { parse_table(text); });
        INFO(text);
        INFO(error.what());
        CHECK(error.code().value() == EINVAL);
        CHECK(std::string(error.what()).find(where) != std::string::npos);
        CHECK(std::string(error.what()).find(why) != std::string::npos);
    }
    std::string many;
    for (int i = 0; i <= 65536; ++i)
        many += std::to_string(i) + " 1 zero\n";
    CHECK(refused([&] { parse_table(many); }).code().value() == E2BIG);
}

TEST_CASE("paths become numbers, all else stays") {
    CHECK(resolve_table("", sda).empty());
    CHECK(resolve_table("0 1 linear 8:0 0\r\n# /dev/no\n", sda) ==
          "0 1 linear 8:0 0\r\n# /dev/no\n");
    CHECK(resolve_table("0 1 linear  /dev/sda\t0", sda) == "0 1 linear  8:0\t0");
    CHECK(resolve_table("#\n0 1 striped 2 1 /dev/sda 0 /dev/sda 0\n", sda) ==
          "#\n0 1 striped 2 1 8:0 0 8:0 0\n");
    Error error = refused([] { resolve_table("\n0 1 linear /dev/nope 0", sda); });
    CHECK(error.code().value() == ENOENT);
    CHECK(std::string(error.what()) ==
          "table line 2, word 4: /dev/nope: No such file or directory");
    CHECK(refused([] { resolve_table(std::string_view("0 1 linear /dev/sda\0x 0", 23), sda); })
              .code()
              .value() == EINVAL);
}
