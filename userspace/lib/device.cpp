// SPDX-License-Identifier: GPL-2.0-or-later
#include "blktally/device.hpp"

#include "blktally/error.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/stat.h>
#include <sys/sysmacros.h>

extern "C" {
#include "words.h"
}

namespace tally {

std::optional<DeviceNumber> parse_device_number(std::string_view text) {
    tally_word word{text.data(), static_cast<unsigned>(text.size())};
    DeviceNumber number;
    if (tally_word_dev(&word, &number.major, &number.minor) != 0)
        return std::nullopt;
    return number;
}

std::string to_string(DeviceNumber number) {
    return std::to_string(number.major) + ":" + std::to_string(number.minor);
}

DeviceNumber block_device_number(const std::string& path) {
    struct stat st;
    if (stat(path.c_str(), &st) != 0)
        throw errno_error(errno, path);
    if (!S_ISBLK(st.st_mode))
        throw Error(ENOTBLK, path + ": not a block device");
    return {major(st.st_rdev), minor(st.st_rdev)};
}

DiskInfo find_disk(Control& control, const std::string& text) {
    if (text.find('/') != std::string::npos)
        return control.disk({"", block_device_number(text)});

    const std::vector<DiskInfo> disks = control.list();
    auto match = std::find_if(
        disks.begin(), disks.end(), [&](const DiskInfo& disk) { return disk.name == text; });
    if (match == disks.end())
        match = std::find_if(
            disks.begin(), disks.end(), [&](const DiskInfo& disk) { return disk.disk == text; });
    if (match == disks.end())
        if (auto number = parse_device_number(text))
            match = std::find_if(disks.begin(), disks.end(), [&](const DiskInfo& disk) {
                return disk.number == *number;
            });
    if (match == disks.end())
        throw Error(ENXIO, "no device \"" + text + "\"");
    return *match;
}

DiskRef ref_of(const DiskInfo& disk) { return {disk.name, {}}; }

} // namespace tally
