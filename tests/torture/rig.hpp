// SPDX-License-Identifier: GPL-2.0-or-later
// The devices of a run: RAM disks, maps over them, maps over those.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "blktally/control.hpp"
#include "measure/random.hpp"
#include "report.hpp"

namespace tally::torture {

struct Device;

// A run of sectors of a disk.
struct Extent {
    Device* disk = nullptr;
    std::uint64_t first = 0, count = 0;
};

struct Device {
    std::string name, disk; // ours, the kernel's
    DeviceNumber number;
    std::uint64_t sectors = 0, taken = 0;
    std::vector<Extent> extents;     // of a map: where its sectors are, in order
    bool counted = false;            // its I/Os are counted throughout: never inflight=off
    bool polled = false;             // who waits may ask for what has ended
    bool shadowed = false;           // beside its mode the shadow counts
    unsigned depth = 0;              // I/Os that can be in flight at once
    std::atomic<int> outstanding{0}; // of the jobs, not yet reaped
    std::shared_mutex tables;        // alone: no other thread suspends, resumes or loads

    bool is_map() const noexcept { return !extents.empty(); }
    std::string node() const { return "/dev/" + disk; }
    std::string sysfs() const { return "/sys/block/" + disk; }
    DiskRef ref() const { return {name, {}}; }
};

class Rig {
public:
    Rig(Control& control, Random random);

    std::deque<Device>& devices() noexcept { return devices_; }
    Device& device(const std::string& name);
    std::vector<Device*> maps();

    // The next sectors of a disk that nobody has.
    static Extent take(Device& disk, std::uint64_t count);
    // That many I/Os may be in flight on it, and so pieces of them below.
    static void expect(Device& disk, unsigned depth);
    // Where a sector of a map is in the end.
    static Extent resolve(Device& disk, std::uint64_t sector);

    // A table that leaves each sector where it is, cut into segments at random.
    static std::string table(const Device& map, Random& random);
    // Fails the run unless the text says what extents say, however it is cut.
    static void check_table(const Device& map, const std::string& text, Report& report);

    // Top down. What is left at the end of the patience throws.
    void remove(Control& control);

private:
    std::deque<Device> devices_; // each below those that use it
};

constexpr unsigned pieces_max = 4; // of one extent in a table

// Calls it until it is not refused as busy: udevd opens new devices for a while.
void patiently(const std::function<void()>& call);

} // namespace tally::torture
