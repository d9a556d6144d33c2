// SPDX-License-Identifier: GPL-2.0-or-later
#include "report.hpp"

#include <cmath>
#include <cstdio>

#include "watch.hpp"

namespace tally::torture {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

struct Row {
    Count count;
    const char* name;
    std::uint64_t least; // per minute, in units
    std::uint64_t unit;
};

constexpr Row rows[] = {
    {Count::verified, "MiB read back and compared", 256, mebibyte},
    {Count::zeroes, "MiB of zeroes compared", 0, mebibyte},
    {Count::written, "MiB written", 0, mebibyte},
    {Count::reads, "reads", 0, 1},
    {Count::writes, "writes", 0, 1},
    {Count::discards, "discards", 0, 1},
    {Count::write_zeroes, "write-zeroes", 0, 1},
    {Count::nowait_refused, "NOWAIT I/Os put off", 0, 1},
    {Count::polled, "I/Os polled for", 20, 1},
    {Count::flips, "flips", 200, 1},
    {Count::settings, "settings of modes", 0, 1},
    {Count::settings_refused, "settings refused", 0, 1},
    {Count::suspends, "suspends", 100, 1},
    {Count::suspends_waited_for, "suspends with I/O deferred", 0, 1},
    {Count::reloads, "tables gone live", 50, 1},
    {Count::loads, "tables loaded", 0, 1},
    {Count::hotplugs, "CPU off line and on line", 20, 1},
    {Count::views, "files read", 0, 1},
    {Count::listings, "listings asked for", 0, 1},
    {Count::churned, "devices made and removed", 0, 1},
    {Count::load_ios, "I/Os of tally_gen", 0, 1},
};

constexpr const char* span_names[] = {
    "batch of I/O",
    "flip",
    "suspend",
    "resume",
    "load",
    "hotplug",
    "file read",
    "suspend when idle",
};
static_assert(std::size(rows) == static_cast<std::size_t>(Count::end));
static_assert(std::size(span_names) == static_cast<std::size_t>(Span::end));

std::uint64_t least_in(const Row& row, double seconds) {
    return static_cast<std::uint64_t>(static_cast<double>(row.least) * seconds / 60);
}

} // namespace

void Report::took(Span what, Clock::duration time) noexcept {
    auto& longest = longest_[static_cast<std::size_t>(what)];
    Clock::rep seen = longest.load(std::memory_order_relaxed);
    while (seen < time.count() && !longest.compare_exchange_weak(seen, time.count()))
        ;
}

void Report::fail(const std::string& what) {
    const std::lock_guard lock(print_);
    // The first says what happened; a hundred more say no more.
    if (failures_++ < 20)
        std::printf("FAIL (%s) %s\n", Activity::mine().name().c_str(), what.c_str());
    std::fflush(stdout);
    stop();
}

void Report::check_minima(double seconds, bool hotplug) {
    for (const Row& row : rows) {
        const std::uint64_t least = least_in(row, seconds);
        if (count(row.count) / row.unit < least && (row.count != Count::hotplugs || hotplug))
            fail("only " + std::to_string(count(row.count) / row.unit) + " " + row.name +
                 ", the least is " + std::to_string(least));
    }
}

void Report::print(double seconds) const {
    std::printf("%-28s %10s %11s %9s\n", "", "count", "per minute", "at least");
    for (const Row& row : rows) {
        const double n = static_cast<double>(count(row.count)) / static_cast<double>(row.unit);
        std::printf("%-28s %10.0f %11.0f", row.name, std::floor(n), n * 60 / seconds);
        if (row.least != 0)
            std::printf(" %9llu", static_cast<unsigned long long>(row.least));
        std::printf("\n");
    }
    std::fflush(stdout);
}

void Report::print_longest() const {
    std::printf("longest:");
    for (std::size_t i = 0; i < std::size(span_names); ++i)
        std::printf("%s %s %.3f s",
                    i != 0 ? "," : "",
                    span_names[i],
                    std::chrono::duration<double>(longest(static_cast<Span>(i))).count());
    std::printf("\n");
    std::fflush(stdout);
}

} // namespace tally::torture
