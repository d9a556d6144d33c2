// SPDX-License-Identifier: GPL-2.0-or-later
// What each thread is doing and since when, and who looks whether one hangs.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "report.hpp"

namespace tally::torture {

// Of one thread, for as long as it lives.
class Activity {
public:
    explicit Activity(std::string name);
    ~Activity();
    Activity(const Activity&) = delete;
    Activity& operator=(const Activity&) = delete;

    static Activity& mine() noexcept;

    // Both must outlive the thread.
    void doing(const char* what, const char* with = "") noexcept;
    const std::string& name() const noexcept { return name_; }

    static bool one_hangs(std::chrono::seconds limit);
    static void print_all();

private:
    std::string name_;
    std::atomic<const char*> what_{"start"}, with_{""};
    std::atomic<Clock::rep> since_;
    Activity* before_; // what this thread did under another name
    int task_;
};

// Something that takes its time: it is the thread's activity, and its length is noted.
class Timed {
public:
    Timed(Report& report, Span span, const char* what, const char* with = "") noexcept
        : report_(report), span_(span), start_(Clock::now()) {
        Activity::mine().doing(what, with);
    }
    ~Timed() {
        report_.took(span_, Clock::now() - start_);
        Activity::mine().doing("nothing that waits");
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

private:
    Report& report_;
    Span span_;
    Clock::time_point start_;
};

// While it lives no thread hangs for long: else it says what each was doing, lets the kernel say
// what waits there, and ends the process.
class Watchdog {
public:
    explicit Watchdog(std::chrono::seconds limit);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

private:
    std::atomic<bool> over_{false};
    std::thread thread_;
};

} // namespace tally::torture
