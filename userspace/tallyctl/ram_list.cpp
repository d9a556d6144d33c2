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
    bool json = false;
};

int run(const Options& options, Session& session) {
    Control control = session.open();
    require_ram(control);
    const std::vector<DiskInfo> disks = control.list(DiskKind::ram);
    if (options.json) {
        Json json = document("ram-list");
        json["devices"] = Json::array();
        for (const DiskInfo& disk : disks)
            json["devices"].push_back(json_of(disk));
        session.out = text_of(json);
        return exit_ok;
    }
    for (const DiskInfo& disk : disks)
        session.out += disk.name + "\t(" + to_string(disk.number) + ")\t" +
                       std::to_string(disk.sectors) + "\t" + disk.detail + "\t" + disk.profile +
                       "\n";
    say_if_none(session, disks);
    return exit_ok;
}

} // namespace

void setup_ram_list(CLI::App& ram, Session& session) {
    CLI::App& verb =
        *ram.add_subcommand("list", "List disks: name, number, sectors, kind, profile");
    auto options = verb_options(verb, session, run);
    add_json(verb, options->json);
}

} // namespace tally
