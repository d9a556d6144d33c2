// SPDX-License-Identifier: GPL-2.0-or-later
// The links /dev/blktally/<name>. Where udevd runs, our rule makes and removes them, and all there
// is to do is to wait for it. Where it does not (or the rule is not installed), we do it.
#pragma once

#include "blktally/control.hpp"
#include "blktally/fd.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace tally {

class UdevEvents;

// The file name that stands for a device name: what is neither [0-9A-Za-z#+-.:=@_] nor UTF-8
// becomes \xNN. It is libudev's own encoding, so rule and tool cannot differ.
// Throws Error (ENAMETOOLONG) if no directory can hold the result.
std::string link_name(const std::string& name);

class Links {
public:
    struct Places {
        std::string directory = "/dev/blktally";
        std::string lock = "/run/blktally.lock"; // nobody but root can have it open
        std::string udev_control = "/run/udev/control"; // is there while udevd runs
        // How long to wait for udevd: while it has nothing to do and is not known to be done with
        // the device, and at all.
        std::chrono::milliseconds idle{1000}, busy{10000};
    };

    Links();
    explicit Links(Places places);

    // Held round "create a device and its link" and "remove both", so that two tools do not take
    // each other's link away. Hears of what udevd does in this time.
    class Turn {
    public:
        Turn(Turn&&) noexcept;
        ~Turn();

    private:
        friend Links;
        explicit Turn(Fd lock);
        Fd lock_;
        std::unique_ptr<UdevEvents> events_;
    };
    [[nodiscard]] Turn lock() const;

    std::string path(const std::string& name) const;

    // Returns when the link leads to the device.
    void ensure(const Turn& turn,
                const std::string& name,
                const std::string& disk,
                DeviceNumber number) const;

    // Returns when no link of that name leads to the disk, which is gone already.
    void remove(const Turn& turn, const std::string& name, const std::string& disk) const;

    // Returns when udevd has done what it knows of. While it looks at a device it has it open, and
    // the device cannot be removed. False: it had nothing to do, or does not run.
    bool settle() const;

private:
    // An event of a disk, as udevd tells it.
    struct Event {
        UdevEvents& events;
        std::string action, disk;
    };
    bool wait_for_udev(const std::function<bool()>& done, const Event* event) const;

    Places places_;
};

} // namespace tally
