// SPDX-License-Identifier: GPL-2.0-or-later
// From what a user calls a device to the device.
#pragma once

#include "blktally/control.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace tally {

// "major:minor", or nothing.
std::optional<DeviceNumber> parse_device_number(std::string_view text);
std::string to_string(DeviceNumber number);

// Number of the block device at a path. Throws Error.
DeviceNumber block_device_number(const std::string& path);

// A disk of ours by path, name, kernel disk name or major:minor, tried in this order: a name that
// looks like one of the others is still the name. Throws Error (ENXIO) when there is none.
DiskInfo find_disk(Control& control, const std::string& text);
DiskRef ref_of(const DiskInfo& disk);

} // namespace tally
