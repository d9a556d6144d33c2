// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"
#include "disks.hpp"
#include "json.hpp"
#include "verbs.hpp"

#include "blktally/device.hpp"
#include "blktally/error.hpp"

namespace tally {

namespace {

struct Options {
    std::string name;
    bool json = false;
};

std::string tables_present(const DiskInfo& disk) {
    if (disk.live)
        return disk.inactive ? "LIVE & INACTIVE" : "LIVE";
    return disk.inactive ? "INACTIVE" : "None";
}

// dmsetup's labels in dmsetup's order, then what dmsetup does not have.
std::string text_of(const DiskInfo& disk) {
    std::string text;
    auto line = [&](std::string label, const std::string& value) {
        label.resize(19, ' ');
        text += label + value + "\n";
    };
    line("Name:", disk.name);
    line("State:",
         std::string(disk.suspended ? "SUSPENDED" : "ACTIVE") +
             (disk.read_only ? " (READ-ONLY)" : ""));
    if (disk.kind == DiskKind::map)
        line("Tables present:", tables_present(disk));
    line("Open count:", std::to_string(disk.open_count));
    if (disk.kind == DiskKind::map)
        line("Event number:", std::to_string(disk.events));
    line("Major, minor:",
         std::to_string(disk.number.major) + ", " + std::to_string(disk.number.minor));
    if (disk.kind == DiskKind::map)
        line("Number of targets:", std::to_string(disk.segments));
    if (!disk.uuid.empty())
        text += "UUID: " + disk.uuid + "\n";
    line("Disk:", disk.disk);
    line("Profile:", disk.profile);
    if (!disk.detail.empty())
        line("Detail:", disk.detail);
    return text;
}

int run(const Options& options, Session& session) {
    Control control = session.open();
    std::vector<DiskInfo> disks;
    if (options.name.empty())
        disks = chosen_maps(control, "");
    else // any disk of ours can be named, whichever module it is of
        disks = {find_disk(control, options.name)};

    if (options.json) {
        Json json = document("info");
        json["devices"] = Json::array();
        for (const DiskInfo& disk : disks)
            json["devices"].push_back(json_of(disk));
        session.out = tally::text_of(json);
        return exit_ok;
    }
    for (const DiskInfo& disk : disks)
        session.out += text_of(disk) + "\n";
    say_if_none(session, disks);
    return exit_ok;
}

} // namespace

void setup_info(CLI::App& app, Session& session) {
    CLI::App& verb = *app.add_subcommand("info", "Print what is known of devices");
    auto options = verb_options(verb, session, run);
    add_word(verb, "DEV", options->name, "The device; without it all mapped devices");
    add_json(verb, options->json);
}

} // namespace tally
