// SPDX-License-Identifier: GPL-2.0-or-later
// What was done and how often, what took longest, and what went wrong.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace tally::torture {

using Clock = std::chrono::steady_clock;

enum class Count : std::size_t {
    verified, // bytes that were written, read back and compared
    zeroes,   // bytes that were never written or were cleared, read and compared
    written,  // bytes
    reads,
    writes,
    discards,
    write_zeroes,
    nowait_refused,
    polled,
    flips,    // a switch that a disk counted
    settings, // a setting that was accepted, whether or not it changed something
    settings_refused,
    suspends,
    suspends_waited_for, // with I/O waiting from the suspend to the resume
    reloads,             // a table that went live
    loads,
    hotplugs,
    views,
    listings,
    churned,
    load_ios,
    end
};

enum class Span : std::size_t { io, flip, suspend, resume, load, hotplug, view, idle_suspend, end };

class Report {
public:
    void add(Count what, std::uint64_t n = 1) noexcept {
        counts_[static_cast<std::size_t>(what)].fetch_add(n, std::memory_order_relaxed);
    }
    std::uint64_t count(Count what) const noexcept {
        return counts_[static_cast<std::size_t>(what)].load();
    }
    void took(Span what, Clock::duration time) noexcept;
    Clock::duration longest(Span what) const noexcept {
        return Clock::duration(longest_[static_cast<std::size_t>(what)].load());
    }

    // Prints it at once, with the thread that found it, and ends the run.
    void fail(const std::string& what);
    bool failed() const noexcept { return failures_ != 0; }

    // All threads look at this.
    bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }
    void stop() noexcept { stopped_ = true; }

    // What was done in that time, against the least.
    void check_minima(double seconds, bool hotplug);
    void print(double seconds) const;
    void print_longest() const;

private:
    std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Count::end)> counts_{};
    std::array<std::atomic<Clock::rep>, static_cast<std::size_t>(Span::end)> longest_{};
    std::atomic<unsigned> failures_{0};
    std::atomic<bool> stopped_{false};
    std::mutex print_;
};

} // namespace tally::torture
