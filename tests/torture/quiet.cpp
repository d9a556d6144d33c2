// SPDX-License-Identifier: GPL-2.0-or-later
// What must be so once nothing runs any more: nothing in flight, by whatever it is counted; each
// I/O counted once; a suspend is immediate; every byte is where it belongs.
#include <algorithm>
#include <iterator>
#include <sstream>

#include "blktally/links.hpp"
#include "run.hpp"
#include "text.hpp"

namespace tally::torture {
namespace {

constexpr auto idle_limit = std::chrono::seconds(1);
// Of stat: I/Os and sectors of reads, writes, discards.
constexpr std::size_t counted_fields[] = {0, 2, 4, 6, 11, 13};

std::string diskstats_of(const Device& device) {
    std::istringstream lines(read_file("/proc/diskstats"));
    for (std::string line; std::getline(lines, line);) {
        const auto at = line.find(" " + device.disk + " ");
        if (at != std::string::npos)
            return line.substr(at + device.disk.size() + 2);
    }
    return "";
}

void check_idle(Run& run, const Device& device, const std::string& mode) {
    const struct {
        const char* name;
        std::string text;
        std::size_t first, count;
    } views[] = {
        {"tally/inflight", read_file(device.sysfs() + "/tally/inflight"), 0, 2},
        {"tally/stat", read_file(device.sysfs() + "/tally/stat"), 8, 1},
        {"inflight", read_file(device.sysfs() + "/inflight"), 0, 2},
        {"stat", read_file(device.sysfs() + "/stat"), 8, 1},
        {"/proc/diskstats", diskstats_of(device), 8, 1},
    };
    for (const auto& view : views) {
        const auto now = numbers(view.text);
        if (now.size() < view.first + view.count)
            run.report.fail(device.name + ": " + view.name + ": " + view.text);
        for (std::size_t i = view.first; i < view.first + view.count && i < now.size(); ++i)
            if (now[i] != 0)
                run.report.fail(device.name + ": idle, inflight=" + mode + ", and yet " +
                                view.name + " says " + view.text);
    }
}

// A counter that was left behind shows only under the mode that reads it.
void check_idle_in_all_modes(Run& run, Control& control, const Device& device) {
    check_idle(run, device, control.disk(device.ref()).modes.inflight);
    for (const ModeInfo& mode : control.modes()) {
        if (mode.axis != "inflight")
            continue;
        control.set(device.ref(), "none", {mode.name, "", "", ""});
        check_idle(run, device, mode.name);
    }
}

// Direct I/O that is one bio each, on devices that count in every mode that they were in: the RAM
// disk is under no map, and nobody but the job reads it; a map counts what was issued, not the
// pieces. Write-zeroes are counted as writes.
void check_counted(Run& run, const Device& device) {
    std::uint64_t issued[std::size(counted_fields)] = {};
    for (const auto& job : run.jobs)
        if (&job->device() == &device) {
            std::size_t i = 0;
            for (const Issued* kind : {&job->reads(), &job->writes(), &job->discards()}) {
                issued[i++] += kind->ios;
                issued[i++] += kind->sectors;
            }
        }
    for (const char* view : {"/tally/stat", "/stat"}) {
        const auto now = numbers(read_file(device.sysfs() + view));
        std::string told = device.name + view + " against what was issued, I/Os and sectors:";
        bool same = true;
        for (std::size_t i = 0; i < std::size(counted_fields); ++i) {
            const std::uint64_t counted =
                now.at(counted_fields[i]) - run.counted_before.at(&device).at(counted_fields[i]);
            constexpr const char* names[] = {
                " reads ", " / ", ", writes ", " / ", ", discards ", " / "};
            told += names[i] + std::to_string(counted);
            if (counted != issued[i]) {
                same = false;
                told += " (issued " + std::to_string(issued[i]) + ")";
            }
        }
        if (!same)
            run.report.fail(told);
        else
            std::printf("%s: the same\n", told.c_str());
    }
}

// At no quiesce was anything in flight, by either count.
void check_shadow(Run& run, const Device& device) {
    const std::string text = read_file(device.sysfs() + "/tally/shadow");
    const auto now = numbers(text); // on, checks, differences, negative
    if (now.size() != 4 || now[0] != 1 || now[1] == 0 || now[2] != 0)
        run.report.fail(device.name + ": the shadow says " + text);
    else
        std::printf("%s: the shadow agreed at %ju quiesces\n",
                    device.name.c_str(),
                    static_cast<std::uintmax_t>(now[1]));
}

void check_suspend(Run& run, Control& control, const Device& map) {
    const auto start = Clock::now();
    {
        const Timed timed(run.report, Span::idle_suspend, "suspend of the idle", map.name.c_str());
        control.map_suspend(map.ref());
    }
    const auto took = Clock::now() - start;
    control.map_resume(map.ref());
    if (took > idle_limit)
        run.report.fail(map.name + ": suspend of an idle map took " +
                        std::to_string(std::chrono::duration<double>(took).count()) + " s");
}

} // namespace

void check_quiet(Run& run, Control& control) {
    Activity::mine().doing("the last checks");
    [[maybe_unused]] const bool settled = Links().settle();
    for (const Device& device : run.rig.devices())
        if (device.counted)
            check_counted(run, device);
    for (const Device& device : run.rig.devices())
        check_idle_in_all_modes(run, control, device);
    for (const Device& device : run.rig.devices())
        if (device.shadowed)
            check_shadow(run, device);
    for (const Device* map : run.rig.maps())
        check_suspend(run, control, *map);
    for (const auto& job : run.jobs)
        job->verify_all();
    for (const Device& device : run.rig.devices())
        check_idle_in_all_modes(run, control, device);
}

} // namespace tally::torture
