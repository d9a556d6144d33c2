// SPDX-License-Identifier: GPL-2.0-or-later
#include "rig.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <thread>

#include "blktally/device.hpp"
#include "blktally/links.hpp"
#include "blktally/table.hpp"
#include "text.hpp"

namespace tally::torture {
namespace {

constexpr std::uint64_t mebibyte = 2048; // sectors

struct RamRow {
    const char *name, *store, *completion;
    std::uint64_t megabytes, completion_ns;
    bool counted;
    std::uint32_t queues, poll_queues; // 0: no blk-mq
};

// The last two are under no map. What is issued to torture-exact is what it must have counted;
// blk-mq would make one request of what lies side by side.
constexpr RamRow rams[] = {
    {"torture-flat", "flat", "inline", 32, 0, false, 0, 0},
    {"torture-sparse", "sparse", "softirq", 24, 0, false, 2, 0},
    {"torture-timer", "flat", "timer", 24, 300000, false, 1, 0},
    {"torture-lazy", "sparse", "timer", 24, 50000, false, 0, 0},
    {"torture-polled", "sparse", "inline", 8, 0, false, 2, 1},
    {"torture-exact", "flat", "softirq", 8, 0, true, 0, 0},
};

struct MapRow {
    const char* name;
    std::uint64_t megabytes;
    std::vector<const char*> lowers; // in turn
    bool counted;
};

const MapRow maps_of_rig[] = {
    {"torture-m0", 24, {"torture-flat", "torture-sparse", "torture-timer"}, false},
    {"torture-m1", 16, {"torture-lazy", "torture-timer", "torture-sparse"}, false},
    {"torture-m2", 24, {"torture-m0", "torture-m1", "torture-flat"}, false},
    {"torture-m3", 12, {"torture-m2"}, false},
    {"torture-tally", 6, {"torture-flat", "torture-lazy", "torture-timer"}, true},
};
constexpr std::uint64_t extents_of_map = 6;

// Lengths that no power of two divides; what is left goes to the last.
std::vector<Extent> lay_out(const MapRow& row, Rig& rig, Random& random) {
    std::vector<Extent> extents;
    std::uint64_t left = row.megabytes * mebibyte;
    for (std::uint64_t i = extents_of_map; i > 1; --i) {
        const std::uint64_t count = (left / i - random.below(left / i / 4)) | 1;
        extents.push_back(Rig::take(rig.device(row.lowers[i % row.lowers.size()]), count));
        left -= count;
    }
    extents.push_back(Rig::take(rig.device(row.lowers.front()), left));
    return extents;
}

} // namespace

Rig::Rig(Control& control, Random random) {
    for (const RamRow& row : rams) {
        Device& device = devices_.emplace_back();
        RamOptions options;
        options.name = device.name = row.name;
        options.profile = row.counted ? "linux-5.0" : "none";
        options.store = row.store;
        options.completion = row.completion;
        options.completion_ns = row.completion_ns;
        options.queue = row.queues != 0 ? "mq" : "bio";
        options.submit_queues = row.queues;
        options.poll_queues = row.poll_queues;
        options.sectors = device.sectors = row.megabytes * mebibyte;
        device.counted = row.counted;
        device.polled = row.poll_queues != 0;
        const Created created = control.ram_add(options);
        device.disk = created.disk;
        device.number = created.number;
    }
    for (const MapRow& row : maps_of_rig) {
        auto extents = lay_out(row, *this, random);
        Device& device = devices_.emplace_back();
        device.name = row.name;
        device.extents = std::move(extents);
        device.sectors = row.megabytes * mebibyte;
        device.counted = row.counted;
        const Created created =
            control.map_create(row.name, "", row.counted ? "linux-4.20" : "none", false);
        device.disk = created.disk;
        device.number = created.number;
        control.map_load(device.ref(), table(device, random), false);
        control.map_resume(device.ref());
    }
    // Half of them, so that the bodies that are compiled for a profile are tortured as well.
    for (std::size_t i = 0; i < devices_.size(); i += 2) {
        write_file(devices_[i].sysfs() + "/tally/shadow", "1");
        devices_[i].shadowed = true;
    }
    // From here on nobody else reads them.
    [[maybe_unused]] const bool settled = Links().settle();
}

Device& Rig::device(const std::string& name) {
    const auto found = std::find_if(devices_.begin(), devices_.end(), [&](const Device& device) {
        return device.name == name;
    });
    if (found == devices_.end())
        throw std::logic_error("no device " + name);
    return *found;
}

std::vector<Device*> Rig::maps() {
    std::vector<Device*> maps;
    for (Device& device : devices_)
        if (device.is_map())
            maps.push_back(&device);
    return maps;
}

Extent Rig::take(Device& disk, std::uint64_t count) {
    if (count > disk.sectors - disk.taken)
        throw std::logic_error(disk.name + " is full");
    const Extent extent{&disk, disk.taken, count};
    disk.taken += count;
    return extent;
}

void Rig::expect(Device& disk, unsigned depth) {
    disk.depth += depth;
    for (const Extent& extent : disk.extents)
        expect(*extent.disk, depth * pieces_max);
}

Extent Rig::resolve(Device& disk, std::uint64_t sector) {
    for (const Extent& extent : disk.extents) {
        if (sector < extent.count)
            return resolve(*extent.disk, extent.first + sector);
        sector -= extent.count;
    }
    return {&disk, sector, 1};
}

std::string Rig::table(const Device& map, Random& random) {
    std::string text;
    std::uint64_t start = 0;
    for (const Extent& extent : map.extents) {
        std::vector<std::uint64_t> cuts{0, extent.count};
        for (std::uint64_t more = random.below(pieces_max); more > 0; --more)
            cuts.push_back(1 + random.below(extent.count - 1));
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        for (std::size_t i = 1; i < cuts.size(); ++i) {
            const std::uint64_t length = cuts[i] - cuts[i - 1];
            text += std::to_string(start) + " " + std::to_string(length) + " linear " +
                    to_string(extent.disk->number) + " " +
                    std::to_string(extent.first + cuts[i - 1]) + "\n";
            start += length;
        }
    }
    return text;
}

void Rig::check_table(const Device& map, const std::string& text, Report& report) {
    std::uint64_t at = 0, left = map.extents.front().count;
    auto extent = map.extents.begin();
    for (const Segment& segment : parse_table(text)) {
        const std::uint64_t first =
            extent == map.extents.end() ? 0 : extent->first + extent->count - left;
        if (extent == map.extents.end() || segment.target != "linear" || segment.start != at ||
            segment.length > left ||
            segment.args != to_string(extent->disk->number) + " " + std::to_string(first)) {
            report.fail(map.name + ": a table that was never loaded:\n" + text);
            return;
        }
        at += segment.length;
        left -= segment.length;
        if (left == 0 && ++extent != map.extents.end())
            left = extent->count;
    }
    if (extent != map.extents.end())
        report.fail(map.name + ": half of a table:\n" + text);
}

void Rig::remove(Control& control) {
    for (auto device = devices_.rbegin(); device != devices_.rend(); ++device)
        patiently([&] {
            if (device->is_map())
                control.map_remove(device->ref());
            else
                control.ram_remove(device->ref(), false);
        });
}

void patiently(const std::function<void()>& call) {
    const auto end = Clock::now() + std::chrono::seconds(30);
    for (;;) {
        try {
            return call();
        } catch (const CommandError& error) {
            if (error.code().value() != EBUSY || Clock::now() > end)
                throw;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

} // namespace tally::torture
