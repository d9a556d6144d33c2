// SPDX-License-Identifier: GPL-2.0-or-later
// A published experiment as data: what is compared with what, and what was found then.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "blktally/control.hpp"

namespace tally {

// One way to set a device up. Arms on the same kind of device share that device and differ in
// its modes alone.
struct Arm {
    std::string name, about;
    std::string device;  // a kind that the rig knows: "ram", "linear", "dm-linear", …
    std::string profile; // with modes: the profile first
    Modes modes;
    std::uint32_t threads = 0; // 0: as many as the experiment has
    std::string lower{};       // profile of the disk under "linear"; empty: it counts nothing
};

// `arm` against `against`, and once more with each of `threads`, where there are CPUs for it.
struct Contrast {
    std::string name, arm, against;
    std::vector<std::uint32_t> threads;
};

// The time that `arm` adds to the baseline, as a part of what `than` adds.
struct Added {
    std::string arm, than;
    double must = 0, strive = 0;
};

struct PublishedRow {
    std::string label, arm; // arm may be empty: a row that has no counterpart here
    double iops = 0, of_baseline = 0;
};
struct Published {
    std::string machine;
    std::vector<PublishedRow> rows;
};

// How far each busy-time model is from the truth, under I/O with pauses.
struct ThinkTime {
    std::string name;
    std::uint64_t completion_ns = 0, think_ns = 0, ios = 0;
};
struct BusyModel {
    std::string name;
    Modes modes;
};
struct Accuracy {
    std::vector<BusyModel> models;
    std::vector<ThinkTime> workloads;
};

struct Preset {
    std::string name, title, source, question;
    std::uint32_t block_bytes = 512;
    bool write = false, random = false;
    std::string baseline;
    std::vector<Arm> arms;
    std::vector<Contrast> contrasts;
    std::vector<Added> added;
    std::vector<Published> published;
    Accuracy accuracy; // may be empty

    const Arm &arm(const std::string &name) const; // throws UsageError
};

// Throws UsageError that names what is wrong: unknown words, arms that are not there.
Preset parse_preset(std::string_view text, const std::string &where);

} // namespace tally
