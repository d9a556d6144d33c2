// SPDX-License-Identifier: GPL-2.0-or-later
// Which disks a reader is asked about.
#pragma once

#include "session.hpp"

#include <string>
#include <vector>

namespace tally {

// The command's own module is there; else an Error that says so (exit status 3), and not an empty
// answer.
void require_map(Control& control);
void require_ram(Control& control);

// The mapped devices, or the one that is named.
std::vector<DiskInfo> chosen_maps(Control& control, const std::string& name);

// "No devices found" for people; there is nothing to put on stdout.
void say_if_none(Session& session, const std::vector<DiskInfo>& disks);

} // namespace tally
