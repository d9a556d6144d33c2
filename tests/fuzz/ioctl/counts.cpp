// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>

namespace fuzz {

namespace {

constexpr size_t TEXTS = 20;
// A little above what is asked for, so that the last call is not the one that decides.
constexpr double PLANNED = 1.1;
constexpr int OF_A_STORE[] = {0, EINVAL, EPERM};
constexpr int SPARED_OF_A_STORE[] = {ENODEV, ENOMEM};

bool among(std::span<const int> list, int error) {
    for (int e : list)
        if (e == error)
            return true;
    return false;
}

} // namespace

Counts::Counts() : counts_(commands().size()), times_(commands().size()) {}

void Counts::add(const Command& c, int error, std::chrono::nanoseconds took) {
    counts_[index_of(c)][slot(error)]++;
    Time& time = times_[index_of(c)];
    time.sum += took.count();
    for (int64_t most = time.longest; took.count() > most;)
        if (time.longest.compare_exchange_weak(most, took.count()))
            break;
    calls_++;
}

void Counts::complain(std::string what) {
    std::lock_guard guard(lock_);
    if (complaints_++ < TEXTS)
        texts_.push_back(std::move(what));
}

std::vector<const Command*> Counts::behind() const {
    const double planned = wanted(calls()) * PLANNED + 1;
    std::vector<const Command*> some;
    for (const Command& c : commands())
        if (static_cast<double>(of(c, 0)) < planned)
            some.push_back(&c);
    return some;
}

std::vector<std::pair<const Command*, int>> Counts::unreached() const {
    std::vector<std::pair<const Command*, int>> some;
    for (const Command& c : commands())
        for (int error : demanded(c))
            if (!of(c, error))
                some.emplace_back(&c, error);
    return some;
}

void Counts::print(const char* name, const Row& row) {
    std::printf("%-12s", name);
    for (size_t error = 0; error < ERRORS; error++)
        if (row[error] || !error)
            std::printf(
                "  %s %" PRIu64, errno_name(static_cast<int>(error)).c_str(), row[error].load());
    std::printf("\n");
}

// What makes a run slow, and how near it came to what counts as a hang.
void Counts::print_times() const {
    constexpr double MS = 1e-6;
    for (const Command& c : commands()) {
        uint64_t calls = 0;
        for (const auto& count : counts_[index_of(c)])
            calls += count;
        const Time& time = times_[index_of(c)];
        const double sum = static_cast<double>(time.sum) * MS;
        std::printf("%-12s  %.3f ms each, %.0f ms the longest, %.1f s together\n",
                    c.name,
                    calls ? sum / static_cast<double>(calls) : 0,
                    static_cast<double>(time.longest) * MS,
                    sum / 1000);
    }
}

std::vector<std::string> Counts::faults() const {
    std::vector<std::string> some;
    const auto least = static_cast<uint64_t>(wanted(calls()));
    for (const Command& c : commands()) {
        const std::string name = c.name;
        if (of(c, 0) < least)
            some.push_back(name + ": " + std::to_string(of(c, 0)) + " successes, wanted " +
                           std::to_string(least));
        for (int error = 1; error < static_cast<int>(ERRORS); error++)
            if (of(c, error) && !documented(c, error))
                some.push_back(name + ": " + errno_name(error) + " is not documented");
    }
    for (const auto& [c, error] : unreached())
        some.push_back(std::string(c->name) + ": " + errno_name(error) +
                       " is documented, and was not reached");
    for (int error : OF_A_STORE)
        if (!stores_[slot(error)])
            some.push_back("stores into sysfs: no " + errno_name(error));
    for (int error = 1; error < static_cast<int>(ERRORS); error++)
        if (stores_[slot(error)] && !among(OF_A_STORE, error) && !among(SPARED_OF_A_STORE, error))
            some.push_back("stores into sysfs: " + errno_name(error) + " is not documented");
    if (!interrupted_)
        some.push_back("GEN_RUN: no run was ended by a signal");
    return some;
}

bool Counts::report() const {
    for (const Command& c : commands())
        print(c.name, counts_[index_of(c)]);
    print("sysfs store", stores_);
    print_times();
    std::printf("runs ended by a signal: %" PRIu64 "\n", interrupted_.load());
    for (const Command& c : commands())
        for (const Spared& s : spared(c))
            if (!of(c, s.error) && s.error != ENOMEM)
                std::printf(
                    "not asked for: %s of %s: %s\n", errno_name(s.error).c_str(), c.name, s.why);
    for (const Spared& s : unseen())
        std::printf("not asked for: %s: %s\n", errno_name(s.error).c_str(), s.why);
    std::printf(
        "not asked for: ENOMEM, where it is not in the table: takes a shortage of memory, or "
        "injected faults\n");

    std::vector<std::string> all = faults();
    std::lock_guard guard(lock_);
    all.insert(all.end(), texts_.begin(), texts_.end());
    for (const std::string& text : all)
        std::printf("FAULT: %s\n", text.c_str());
    if (complaints_ > texts_.size())
        std::printf("FAULT: and %" PRIu64 " more\n", complaints_ - texts_.size());
    std::fflush(stdout);
    return all.empty();
}

} // namespace fuzz
