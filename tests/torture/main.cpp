// SPDX-License-Identifier: GPL-2.0-or-later
// tally-torture: everything at once. See options.cpp for its usage.
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>

#include "run.hpp"
#include "text.hpp"

namespace tally::torture {
namespace {

constexpr std::chrono::seconds hang_limit{60};
constexpr std::uint64_t job_sectors = 6 * 2048;

volatile std::sig_atomic_t interrupted = 0;

struct JobRow {
    const char* device;
    unsigned jobs;
};
constexpr JobRow job_rows[] = {
    {"torture-m0", 1},
    {"torture-m1", 1},
    {"torture-m2", 2},
    {"torture-m3", 2},
    {"torture-tally", 1},
    {"torture-sparse", 1},
    {"torture-polled", 1},
    {"torture-exact", 1},
};

struct Mover {
    const char* name;
    void (*work)(Run& run, Random random);
    unsigned threads;
};
constexpr Mover movers[] = {
    {"flips", flip, 2},
    {"tables", change_tables, 2},
    {"hotplug", plug, 1},
    {"views", view, 1},
    {"churn", churn, 1},
    {"load", load, 1},
};

// Joins its threads on every path; one that throws fails the run.
class Crew {
public:
    explicit Crew(Report& report) : report_(report) {}
    ~Crew() {
        report_.stop();
        for (std::thread& thread : threads_)
            thread.join();
    }
    void start(const std::string& name, std::function<void()> work) {
        threads_.emplace_back([this, name, work = std::move(work)] {
            const Activity activity(name);
            try {
                work();
            } catch (const std::exception& error) {
                report_.fail(error.what());
            }
        });
    }

private:
    Report& report_;
    std::vector<std::thread> threads_;
};

void make_jobs(Run& run, Random& random) {
    for (const JobRow& row : job_rows)
        for (unsigned i = 0; i < row.jobs; ++i) {
            const auto number = static_cast<unsigned>(run.jobs.size() + 1);
            Device& device = run.rig.device(row.device);
            run.jobs.push_back(std::make_unique<Job>(
                run.report, number, Rig::take(device, job_sectors), random.next()));
        }
    if (run.options.load)
        for (Device* map : run.rig.maps())
            if (!map->counted)
                Rig::expect(*map, load_threads * load_depth);
    for (const Device& device : run.rig.devices())
        if (device.counted)
            run.counted_before[&device] = numbers(read_file(device.sysfs() + "/tally/stat"));
}

void start(Crew& crew, Run& run, Random& random) {
    for (const auto& job : run.jobs)
        crew.start("job on " + job->device().disk, [&job = *job] { job.work(); });
    for (const Mover& mover : movers) {
        if ((mover.work == plug && !run.options.hotplug) ||
            (mover.work == load && !run.options.load))
            continue;
        for (unsigned i = 0; i < mover.threads; ++i)
            crew.start(mover.name, [&run, work = mover.work, seed = random.next()] {
                work(run, Random(seed));
            });
    }
}

struct Totals {
    std::uint64_t switches = 0, events = 0;
};

Totals totals(Run& run, Control& control) {
    Totals totals;
    for (const Device& device : run.rig.devices()) {
        const DiskInfo info = control.disk(device.ref());
        totals.switches += info.switches;
        totals.events += info.events;
    }
    return totals;
}

// Runs everything for the time given; returns how long it was.
double torture(Run& run, Control& control, Random& random) {
    using namespace std::chrono;
    const Totals before = totals(run, control);
    const auto begin = Clock::now();
    {
        Crew crew(run.report);
        start(crew, run, random);
        while (!run.report.stopped() && !interrupted &&
               duration<double>(Clock::now() - begin).count() < run.options.seconds)
            nap(100);
        run.report.stop();
        Activity::mine().doing("wait for the threads");
    }
    const double seconds = duration<double>(Clock::now() - begin).count();
    const Totals after = totals(run, control);
    run.report.add(Count::flips, after.switches - before.switches);
    run.report.add(Count::reloads, after.events - before.events);
    return seconds;
}

int whole(const Options& options) {
    Report report;
    const Activity activity("main");
    const Watchdog watchdog(hang_limit);
    std::printf("tally-torture: --seed %llu --seconds %.0f\n",
                static_cast<unsigned long long>(options.seed),
                options.seconds);
    std::fflush(stdout);
    try {
        Random random(options.seed);
        Control control(open_control_port());
        Activity::mine().doing("setting up");
        Rig rig(control, Random(random.next()));
        Run run{options, report, rig, {}, {}};
        make_jobs(run, random);
        const double seconds = torture(run, control, random);
        std::printf("%.1f s\n", seconds);
        report.print(seconds);
        report.check_minima(seconds, options.hotplug);
        // Also after a failure: it may say more.
        check_quiet(run, control);
        report.print_longest();
        run.jobs.clear();
        Activity::mine().doing("removing everything");
        rig.remove(control);
    } catch (const std::exception& error) {
        report.fail(error.what());
    }
    std::printf("%s\n", report.failed() ? "failed" : "passed");
    std::fflush(stdout);
    return report.failed() ? 1 : 0;
}

} // namespace
} // namespace tally::torture

int main(int argc, char** argv) {
    using namespace tally::torture;
    const Options options = parse_options(argc, argv);
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
        std::signal(number, [](int) { interrupted = 1; });
    return whole(options);
}
