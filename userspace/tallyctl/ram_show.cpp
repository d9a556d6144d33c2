// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"
#include "disks.hpp"
#include "json.hpp"
#include "ram.hpp"
#include "verbs.hpp"

#include "blktally/device.hpp"
#include "blktally/error.hpp"

namespace tally {

namespace {

struct Options {
    std::string name;
    bool json = false;
};

int run(const Options& options, Session& session) {
    Control control = session.open();
    const DiskInfo disk = find_disk(control, options.name);
    const auto settings = control.ram_settings(ref_of(disk));
    if (options.json) {
        Json json = document("ram-show");
        json["device"] = json_of(disk);
        json["settings"] = Json::object();
        for (const auto& [name, value] : settings)
            json["settings"][name] = std::stoull(value);
        session.out = text_of(json);
        return exit_ok;
    }
    for (const auto& [name, value] : settings)
        session.out += name + "=" + value + "\n";
    return exit_ok;
}

} // namespace

void setup_ram_show(CLI::App& ram, Session& session) {
    CLI::App& verb = *ram.add_subcommand("show", "Print the settings of a disk, as ram set takes them");
    auto options = verb_options(verb, session, run);
    add_word(verb, "DEV", options->name, "The disk")->required();
    add_json(verb, options->json);
}

} // namespace tally
