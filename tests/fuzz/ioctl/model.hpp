// SPDX-License-Identifier: GPL-2.0-or-later
// What exists, as LIST told last. Callers run against each other: it may be out of date at any
// time, and they live with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "blktally.h"
#include "random.hpp"

namespace fuzz {

struct Disk {
    uint32_t kind, state, major, minor, block, open_count;
    uint64_t sectors;
    std::string name, uuid, disk;

    bool is(uint32_t bit) const { return state & bit; }
    bool readonly() const { return is(TALLY_DISK_READONLY); }
    std::string number() const { return std::to_string(major) + ":" + std::to_string(minor); }
    std::string node() const { return "/dev/" + disk; }
};

class Model {
public:
    // Few at once: the machine is small, and they are to meet.
    static constexpr size_t RAM_MAX = 7, MAP_MAX = 7;

    explicit Model(int control) : control_(control) {}

    // What LIST says now; throws when it fails.
    std::vector<Disk> refresh();
    std::vector<Disk> all(uint32_t kind = TALLY_KIND_ANY) const;
    size_t count(uint32_t kind) const { return all(kind).size(); }
    // One that PREFERRED likes, or any if there is none.
    template <typename Preferred>
    std::optional<Disk> pick(Random& random, uint32_t kind, Preferred preferred) const {
        std::vector<Disk> some = all(kind), liked;
        for (const Disk& d : some)
            if (preferred(d))
                liked.push_back(d);
        std::vector<Disk>& from = liked.empty() ? some : liked;
        return from.empty() ? std::nullopt : std::optional(random.pick(from));
    }
    std::optional<Disk> pick(Random& random, uint32_t kind = TALLY_KIND_ANY) const {
        return pick(random, kind, [](const Disk&) { return true; });
    }
    std::string fresh_name(char letter) { return letter + std::to_string(serial_++); }

    // Success and errno of simple commands that nobody counts.
    int call(unsigned request, void* structure, uint32_t size) const;
    int map_op(unsigned request, const Disk& map) const;
    int load(const Disk& map, const std::string& table, uint32_t flags) const;

private:
    int control_;
    mutable std::mutex lock_; // all below; also held across LIST: a later answer is a newer one
    std::vector<Disk> disks_;
    std::atomic<unsigned> serial_{0};
};

tally_ref ref_of(const Disk& d);

} // namespace fuzz
