// SPDX-License-Identifier: GPL-2.0-or-later
// How often each command returned what, and the verdict on it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"

namespace fuzz {

class Counts {
public:
    static constexpr size_t ERRORS = 134; // errno values, 0 included
    // How often each command must have succeeded among that many calls: 1,000 times in 100,000.
    // Making and removing disks takes nearly all the time: in a longer run, the other calls grow.
    static double wanted(uint64_t calls) { return std::min(calls / 100.0, 2000.0); }

    Counts();

    void add(const Command& c, int error, std::chrono::nanoseconds took);
    void add_store(int error) { stores_[slot(error)]++; }
    void interrupted() { interrupted_++; }
    // Something that must never be, for the list at the end; the first few are kept.
    void complain(std::string what);

    uint64_t calls() const { return calls_; }
    uint64_t of(const Command& c, int error) const { return counts_[index_of(c)][slot(error)]; }
    // Behind the schedule by which every command succeeds often enough.
    std::vector<const Command*> behind() const;
    std::vector<std::pair<const Command*, int>> unreached() const;

    // Prints the table and what is wrong; whether nothing is.
    bool report() const;

private:
    using Row = std::array<std::atomic<uint64_t>, ERRORS>;

    static size_t slot(int error) {
        return static_cast<size_t>(error) < ERRORS ? error : ERRORS - 1;
    }
    static void print(const char* name, const Row& row);
    void print_times() const;
    std::vector<std::string> faults() const;

    std::vector<Row> counts_;
    struct Time {
        std::atomic<int64_t> sum{0}, longest{0}; // ns
    };
    std::vector<Time> times_;
    Row stores_{};
    std::atomic<uint64_t> calls_{0}, interrupted_{0}, complaints_{0};
    mutable std::mutex lock_; // the texts
    std::vector<std::string> texts_;
};

} // namespace fuzz
