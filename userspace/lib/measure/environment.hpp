// SPDX-License-Identifier: GPL-2.0-or-later
// Where a measurement was taken: without it a figure means nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "measure/json.hpp"

namespace tally {

struct Hypervisor {
    std::string name;        // "none", "KVM", "TCG", …
    std::string accelerator; // what runs the guest's instructions: "hardware", "TCG" or "unknown"
    bool emulated = false;   // then times say nothing about hardware
};

// From CPUID's signature (empty: no hypervisor bit; none: a CPU without CPUID) and the machine's
// vendor as DMI tells it. Emulated only when that is certain.
Hypervisor classify(const std::optional<std::string> &signature, const std::string &vendor);
Hypervisor hypervisor();

// `root` is where sys and proc are; tests bring their own.
Json environment(std::uint64_t seed, const std::filesystem::path &root = "/");

} // namespace tally
