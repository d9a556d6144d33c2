// SPDX-License-Identifier: GPL-2.0-or-later
// Profiles and single axes, back to back, by ioctl and by sysfs.
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "blktally/error.hpp"
#include "run.hpp"

namespace tally::torture {
namespace {

class Flipper {
public:
    Flipper(Run& run, Random random)
        : run_(run), random_(random), control_(open_control_port()), profiles_(control_.profiles()),
          modes_(control_.modes()) {}

    void work() {
        auto& devices = run_.rig.devices();
        while (!run_.report.stopped()) {
            Device& device = devices[random_.below(devices.size())];
            for (std::uint64_t n = 1 + random_.below(8); n > 0 && !run_.report.stopped(); --n)
                flip(device);
        }
    }

private:
    void flip(Device& device) {
        const Timed timed(run_.report, Span::flip, "flip of", device.name.c_str());
        switch (random_.below(4)) {
        case 0:
            return set(device, profile(device), {});
        case 1:
            return set(device, "", combination(device));
        case 2:
            return store(device, "profile", profile(device));
        default:
            const std::string& axis = axes[random_.below(std::size(axes))];
            return store(device, "mode_" + axis, word(device, axis));
        }
    }

    void set(Device& device, const std::string& profile, const Modes& modes) {
        control_.set(device.ref(), profile, modes);
        run_.report.add(Count::settings);
    }

    void store(Device& device, const std::string& file, const std::string& value) {
        const std::string path = device.sysfs() + "/tally/" + file;
        const Fd fd = Fd::open(path, O_WRONLY);
        if (write(fd.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size())) {
            run_.report.add(Count::settings);
        } else if (errno == EINVAL && file != "profile") {
            // An axis that does not go with the others as they are now.
            run_.report.add(Count::settings_refused);
        } else {
            run_.report.fail(errno_error(errno, value + " to " + path).what());
        }
    }

    std::string profile(const Device& device) {
        for (;;) {
            const ProfileInfo& profile = profiles_[random_.below(profiles_.size())];
            if (!device.counted || profile.modes.inflight != "off")
                return profile.name;
        }
    }

    std::string word(const Device& device, const std::string& axis) {
        for (;;) {
            const ModeInfo& mode = modes_[random_.below(modes_.size())];
            if (mode.axis == axis && !(device.counted && axis == "inflight" && mode.name == "off"))
                return mode.name;
        }
    }

    // All four axes, such as they go together.
    Modes combination(const Device& device) {
        Modes modes{word(device, "inflight"), "off", "off", "off"};
        if (modes.inflight == "native")
            return modes;
        if (device.is_map())
            modes.pending = word(device, "pending");
        do
            modes.ticks = word(device, "ticks");
        while (modes.inflight == "off" && (modes.ticks == "round" || modes.ticks == "checked"));
        modes.clock = word(device, "clock");
        return modes;
    }

    inline static const std::string axes[] = {"inflight", "pending", "ticks", "clock"};

    Run& run_;
    Random random_;
    Control control_;
    std::vector<ProfileInfo> profiles_;
    std::vector<ModeInfo> modes_;
};

} // namespace

void flip(Run& run, Random random) { Flipper(run, random).work(); }

} // namespace tally::torture
