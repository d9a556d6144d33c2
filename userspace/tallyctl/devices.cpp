// SPDX-License-Identifier: GPL-2.0-or-later
#include "devices.hpp"

#include "blktally/device.hpp"
#include "blktally/error.hpp"

namespace tally {

Created make_device(Session &session,
                    const std::string &name,
                    const std::function<Created()> &make,
                    const std::function<void(const DiskRef &)> &undo) {
    if (!name.empty())
        link_name(name); // refuses a name that no link can have, before anything is done
    const Fd lock = session.links.lock();
    const Created created = make();
    const std::string &linked = name.empty() ? created.disk : name;
    try {
        session.links.ensure(linked, created.disk, created.number);
    } catch (...) {
        undo({linked, {}});
        session.links.remove(linked, created.disk);
        throw;
    }
    return created;
}

int remove_devices(Session &session,
                   Control &control,
                   const std::vector<std::string> &names,
                   const std::function<void(const DiskRef &)> &remove) {
    int status = exit_ok;
    const Fd lock = session.links.lock();
    for (const std::string &name : names) {
        try {
            const DiskInfo disk = find_disk(control, name);
            remove(ref_of(disk));
            session.links.remove(disk.name, disk.disk);
        } catch (const std::system_error &error) {
            session.say(name + ": " + error.what());
            if (status == exit_ok)
                status = exit_status(error.code());
        }
    }
    return status;
}

} // namespace tally
