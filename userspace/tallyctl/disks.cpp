// SPDX-License-Identifier: GPL-2.0-or-later
#include "disks.hpp"

#include "blktally/device.hpp"
#include "blktally/error.hpp"

#include <cerrno>

namespace tally {

namespace {

void require(bool there, const char* module) {
    if (!there)
        throw Error(ENODEV, not_loaded(module));
}

} // namespace

void require_map(Control& control) { require(control.info().map, "tally_map"); }
void require_ram(Control& control) { require(control.info().ram, "tally_ram"); }

std::vector<DiskInfo> chosen_maps(Control& control, const std::string& name) {
    require_map(control);
    if (name.empty())
        return control.list(DiskKind::map);
    return {find_disk(control, name)};
}

void say_if_none(Session& session, const std::vector<DiskInfo>& disks) {
    if (disks.empty())
        session.say("no devices found");
}

} // namespace tally
