// SPDX-License-Identifier: GPL-2.0-or-later
#include "devices.hpp"

#include "blktally/device.hpp"
#include "blktally/error.hpp"

#include <cerrno>
#include <chrono>

namespace tally {

namespace {

void remove_with_link(Session& session,
                      const Links::Turn& turn,
                      const DiskRef& ref,
                      const std::string& disk,
                      const std::function<void(const DiskRef&)>& remove) {
    patiently(session, [&] { remove(ref); });
    session.links.remove(turn, ref.name, disk);
}

void try_unmake(Session& session,
                const Links::Turn& turn,
                const DiskRef& ref,
                const std::string& disk,
                const std::function<void(const DiskRef&)>& undo) {
    try {
        remove_with_link(session, turn, ref, disk, undo);
    } catch (const std::system_error& error) {
        session.say(ref.name + " is left behind: " + error.what());
    }
}

} // namespace

void patiently(Session& session, const std::function<void()>& command) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point until = Clock::now() + std::chrono::minutes(1);
    for (bool last = false;;) {
        try {
            return command();
        } catch (const CommandError& error) {
            if (error.code().value() != EBUSY || last)
                throw;
            // With nothing for udevd to do, it is somebody else who has it open from now on.
            last = !session.links.settle() || Clock::now() >= until;
        }
    }
}

Created make_device(Session& session,
                    const std::string& name,
                    const std::function<Created()>& make,
                    const std::function<void(const DiskRef&)>& undo) {
    if (!name.empty())
        link_name(name); // refuses a name that no link can have, before anything is done
    const Links::Turn turn = session.links.lock();
    const Created created = make();
    const std::string& linked = name.empty() ? created.disk : name;
    try {
        session.links.ensure(turn, linked, created.disk, created.number);
    } catch (...) {
        try_unmake(session, turn, {linked, {}}, created.disk, undo);
        throw;
    }
    return created;
}

void unmake_device(Session& session,
                   const DiskRef& ref,
                   const std::string& disk,
                   const std::function<void(const DiskRef&)>& undo) {
    const Links::Turn turn = session.links.lock();
    try_unmake(session, turn, ref, disk, undo);
}

int remove_devices(Session& session,
                   Control& control,
                   const std::vector<std::string>& names,
                   const std::function<void(const DiskRef&)>& remove) {
    int status = exit_ok;
    const Links::Turn turn = session.links.lock();
    for (const std::string& name : names) {
        try {
            const DiskInfo disk = find_disk(control, name);
            remove_with_link(session, turn, ref_of(disk), disk.disk, remove);
        } catch (const std::system_error& error) {
            session.say(name + ": " + error.what());
            if (status == exit_ok)
                status = exit_status(error.code());
        }
    }
    return status;
}

} // namespace tally
