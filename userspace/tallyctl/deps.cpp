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
    bool inactive = false, json = false;
};

int run(const Options& options, Session& session) {
    Control control = session.open();
    Json devices = Json::array();
    const std::vector<DiskInfo> disks = chosen_maps(control, options.name);
    for (const DiskInfo& disk : disks) {
        const std::vector<DeviceNumber> deps = control.map_deps(ref_of(disk), options.inactive);
        Json device = json_brief(disk);
        device["deps"] = Json::array();
        std::string line = options.name.empty() ? disk.name + ": " : "";
        line += std::to_string(deps.size()) + " dependencies\t:";
        for (const DeviceNumber& dep : deps) {
            line += " (" + std::to_string(dep.major) + ", " + std::to_string(dep.minor) + ")";
            device["deps"].push_back({{"major", dep.major}, {"minor", dep.minor}});
        }
        devices.push_back(std::move(device));
        if (!options.json)
            session.out += line + "\n";
    }
    if (options.json) {
        Json json = document("deps");
        json["devices"] = std::move(devices);
        session.out = text_of(json);
    } else {
        say_if_none(session, disks);
    }
    return exit_ok;
}

} // namespace

void setup_deps(CLI::App& app, Session& session) {
    CLI::App& verb = *app.add_subcommand("deps", "Print the disks below mapped devices");
    auto options = verb_options(verb, session, run);
    add_word(verb, "DEV", options->name, "The device; without it all mapped devices");
    verb.add_flag("--inactive", options->inactive, "Of the inactive table");
    add_json(verb, options->json);
}

} // namespace tally
