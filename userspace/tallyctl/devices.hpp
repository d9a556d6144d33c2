// SPDX-License-Identifier: GPL-2.0-or-later
// Devices come and go together with their links.
#pragma once

#include "session.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tally {

// Carries a command out that fails with EBUSY while a device is open. That may be udevd, which
// looks at each new or changed device and lets go of it soon: then again, for a minute.
void patiently(Session& session, const std::function<void()>& command);

// Makes a device and waits for its link. If the link cannot be made, the device is undone.
// The link's name is `name`, or the kernel's disk name if that is empty.
Created make_device(Session& session,
                    const std::string& name,
                    const std::function<Created()>& make,
                    const std::function<void(const DiskRef&)>& undo);

// Removes a device that was made only a moment ago, and its link, because what was to follow
// failed. If that fails too it is told: the first failure is the one to report.
void unmake_device(Session& session,
                   const DiskRef& ref,
                   const std::string& disk,
                   const std::function<void(const DiskRef&)>& undo);

// Removes every device that is named, and its link. A failure is told and does not keep the others;
// the first one's status is returned.
int remove_devices(Session& session,
                   Control& control,
                   const std::vector<std::string>& names,
                   const std::function<void(const DiskRef&)>& remove);

} // namespace tally
