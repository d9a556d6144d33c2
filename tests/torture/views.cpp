// SPDX-License-Identifier: GPL-2.0-or-later
// All that can be read of the disks, over and over: nothing fails, nothing is absurd, and nothing
// that only grows shrinks.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include <unistd.h>

#include "run.hpp"
#include "text.hpp"

namespace tally::torture {
namespace {

constexpr std::size_t stat_in_flight = 8; // the one field that does not only grow

class Views {
public:
    Views(Run& run, Random random)
        : run_(run), random_(random), control_(open_control_port()),
          cpus_(static_cast<std::uint64_t>(sysconf(_SC_NPROCESSORS_CONF))) {
        for (Device& device : run.rig.devices())
            for (const char* group : {"tally", "queue"})
                for (const auto& file :
                     std::filesystem::directory_iterator(device.sysfs() + "/" + group))
                    if (file.is_regular_file())
                        files_.push_back(
                            {&device, std::string(group) + "/" + file.path().filename().string()});
        std::sort(files_.begin(), files_.end(), [](const File& a, const File& b) {
            return std::pair(a.device->name, a.name) < std::pair(b.device->name, b.name);
        });
        // Some files of the kernel's say EINVAL where they do not apply.
        for (File& file : files_) {
            const Timed timed(
                run_.report, Span::view, "a first look at", file.device->name.c_str());
            file.error = read_file(file.path(), text_);
        }
    }

    void work() {
        while (!run_.report.stopped()) {
            for (const File& file : files_)
                look(file);
            for (Device& device : run_.rig.devices()) {
                if (run_.report.stopped())
                    return;
                check_counts(device, "stat");
                check_in_flight(device, numbers(read(device, "inflight")), "inflight");
            }
            check_diskstats();
            check_listings();
            nap(random_.below(200));
        }
    }

private:
    struct File {
        Device* device;
        std::string name;
        int error = 0;
        std::string path() const { return device->sysfs() + "/" + name; }
    };

    std::string read(const Device& device, const std::string& file) {
        const Timed timed(run_.report, Span::view, "reading a file of", device.name.c_str());
        run_.report.add(Count::views);
        return read_file(device.sysfs() + "/" + file);
    }

    void fail(const std::string& what) { run_.report.fail(what); }

    void look(const File& file) {
        if (run_.report.stopped())
            return;
        if (file.name == "tally/stat")
            return check_counts(*file.device, file.name);
        if (file.name == "tally/inflight")
            return check_in_flight(*file.device, numbers(read(*file.device, file.name)), file.name);
        if (file.name == "tally/switches")
            return check_grows(*file.device, file.name, numbers(read(*file.device, file.name)));
        const Timed timed(run_.report, Span::view, "reading a file of", file.device->name.c_str());
        run_.report.add(Count::views);
        const int error = read_file(file.path(), text_);
        if (error != file.error)
            fail(file.path() + ": error " + std::to_string(error) + ", was " +
                 std::to_string(file.error));
        if (file.name == "tally/name" && text_ != file.device->name + "\n")
            fail(file.path() + ": " + text_);
    }

    // Who sums cells one after the other may see an I/O end on one CPU and the next begin on
    // another, and count both.
    void check_in_flight(const Device& device,
                         const std::vector<std::uint64_t>& now,
                         const std::string& view) {
        std::uint64_t sum = 0;
        for (const std::uint64_t n : now)
            sum += std::min<std::uint64_t>(n, UINT32_MAX);
        if (now.empty() || now.size() > 2 || sum > most(device))
            fail(device.name + ": " + view + ": " + std::to_string(sum) + " in flight, at most " +
                 std::to_string(most(device)));
    }

    std::uint64_t most(const Device& device) const { return device.depth * (cpus_ + 1); }

    void check_counts(const Device& device, const std::string& view) {
        check_counts(device, view, numbers(read(device, view)));
    }

    void
    check_counts(const Device& device, const std::string& view, std::vector<std::uint64_t> now) {
        if (now.size() < 17) {
            fail(device.name + ": " + view + ": only " + std::to_string(now.size()) + " fields");
            return;
        }
        check_in_flight(device, {now[stat_in_flight]}, view);
        now[stat_in_flight] = 0;
        check_grows(device, view, now);
    }

    void check_grows(const Device& device,
                     const std::string& view,
                     const std::vector<std::uint64_t>& now) {
        auto& before = before_[{&device, view}];
        for (std::size_t i = 0; i < before.size() && i < now.size(); ++i)
            if (now[i] < before[i])
                fail(device.name + ": " + view + ": field " + std::to_string(i + 1) +
                     " goes back from " + std::to_string(before[i]) + " to " +
                     std::to_string(now[i]));
        before = now;
    }

    void check_diskstats() {
        std::istringstream lines(read_file("/proc/diskstats"));
        run_.report.add(Count::views);
        std::size_t found = 0;
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line);
            std::string major, minor, disk, rest;
            words >> major >> minor >> disk;
            std::getline(words, rest);
            for (const Device& device : run_.rig.devices())
                if (device.disk == disk) {
                    check_counts(device, "/proc/diskstats", numbers(rest));
                    ++found;
                }
        }
        if (found != run_.rig.devices().size())
            fail("/proc/diskstats has " + std::to_string(found) + " of our disks");
    }

    void check_listings() {
        Activity::mine().doing("listings");
        std::set<std::string> words{"custom"};
        for (const ProfileInfo& profile : control_.profiles())
            words.insert(profile.name);
        std::set<std::pair<std::string, std::string>> modes;
        for (const ModeInfo& mode : control_.modes())
            modes.insert({mode.axis, mode.name});
        const CoreInfo info = control_.info();
        if (!info.ram || !info.map || control_.map_targets().empty())
            fail("a module of ours, or a target, is not there any more");

        std::map<std::string, DiskInfo> listed;
        for (DiskInfo& disk : control_.list())
            listed.emplace(disk.name, std::move(disk));
        run_.report.add(Count::listings, 5);
        for (Device& device : run_.rig.devices()) {
            const auto found = listed.find(device.name);
            if (found == listed.end()) {
                fail(device.name + ": is not listed");
                return;
            }
            for (const DiskInfo& disk : {found->second, control_.disk(device.ref())}) {
                const auto& m = disk.modes;
                if (disk.sectors != device.sectors || disk.disk != device.disk ||
                    disk.number != device.number || disk.open_count == 0 ||
                    !words.count(disk.profile) || !modes.count({"inflight", m.inflight}) ||
                    !modes.count({"pending", m.pending}) || !modes.count({"ticks", m.ticks}) ||
                    !modes.count({"clock", m.clock}) || disk.live != device.is_map())
                    fail(device.name + ": listed as " + disk.disk + ", " +
                         std::to_string(disk.sectors) + " sectors, open " +
                         std::to_string(disk.open_count) + " times, " + disk.profile + " " +
                         m.inflight + " " + m.pending + " " + m.ticks + " " + m.clock);
                check_grows(device, "the listing", {disk.switches, disk.events});
            }
            run_.report.add(Count::listings);
            if (device.is_map())
                check_tables(device);
        }
        Activity::mine().doing("nothing that waits");
    }

    void check_tables(Device& map) {
        Rig::check_table(map, control_.map_table(map.ref(), false, false), run_.report);
        const std::string inactive = control_.map_table(map.ref(), true, false);
        if (!inactive.empty())
            Rig::check_table(map, inactive, run_.report);
        const std::string status = control_.map_table(map.ref(), false, true);
        if (status.rfind("0 ", 0) != 0)
            fail(map.name + ": status: " + status);
        std::set<DeviceNumber> wanted;
        for (const Extent& extent : map.extents)
            wanted.insert(extent.disk->number);
        const auto deps = control_.map_deps(map.ref(), false);
        if (deps.size() != wanted.size() || std::set(deps.begin(), deps.end()) != wanted)
            fail(map.name + ": depends on " + std::to_string(deps.size()) + " disks, not " +
                 std::to_string(wanted.size()));
        run_.report.add(Count::listings, 4);
    }

    Run& run_;
    Random random_;
    Control control_;
    std::uint64_t cpus_;
    std::vector<File> files_;
    std::string text_;
    std::map<std::pair<const Device*, std::string>, std::vector<std::uint64_t>> before_;
};

} // namespace

void view(Run& run, Random random) { Views(run, random).work(); }

} // namespace tally::torture
