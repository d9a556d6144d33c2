// SPDX-License-Identifier: GPL-2.0-or-later
// The real devices: disks of ours made through Control, and the peers that the kernel has.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "measure/rig.hpp"

namespace tally {

class DeviceRig final : public Rig {
public:
    using Tell = std::function<void(const std::string &)>;
    // `tell` hears what the destructor could not remove.
    DeviceRig(Control &control, std::uint64_t bytes, Tell tell = {});
    ~DeviceRig() override;
    DeviceRig(const DeviceRig &) = delete;
    DeviceRig &operator=(const DeviceRig &) = delete;

    std::string enter(const Arm &arm) override;

    // A disk of ours that is gone with the rig.
    Created add_ram(const std::string &suffix, RamOptions options);
    // Takes everything down, last first; what could not be removed, in words.
    std::vector<std::string> close();
    // All that rigs of this process may leave behind when it is killed, in words.
    static std::string leftovers();

private:
    struct Made {
        std::string path;
        std::vector<std::string> ours; // disks whose modes the arm's profile is for
        std::string missing;           // why it is not there
    };
    using Make = Made (DeviceRig::*)();
    struct Kind {
        const char *name;
        Make make;
    };
    static const std::vector<Kind> &kinds();

    const Made &made(const std::string &kind);
    void switch_modes(const std::string &disk, const std::string &profile, const Modes &modes);
    std::string name_of(const std::string &suffix) const;
    void undo(const std::string &what, std::function<void()> action);
    void load_peer(const std::string &module, const std::vector<std::string> &parameters);

    Made make_null();
    Made make_null_mq();
    Made make_ram();
    Made make_linear();
    Made make_dm_linear();
    Made make_brd();
    Made make_null_blk();
    Made make_floor_empty();
    Made make_floor_remap();
    void load_floor();

    struct Step {
        std::string what;
        std::function<void()> action;
    };

    Control &control_;
    std::uint64_t bytes_;
    Tell tell_;
    Created ram_; // under "ram" and "linear" alike
    std::map<std::string, Made> made_;
    std::map<std::string, std::string> modes_; // what each disk was last switched to
    std::vector<Step> steps_;
};

} // namespace tally
