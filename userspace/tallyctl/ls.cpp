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
    bool json = false;
};

int run(const Options& options, Session& session) {
    Control control = session.open();
    const std::vector<DiskInfo> disks = chosen_maps(control, "");
    if (options.json) {
        Json json = document("ls");
        json["devices"] = Json::array();
        for (const DiskInfo& disk : disks)
            json["devices"].push_back(json_brief(disk));
        session.out = text_of(json);
        return exit_ok;
    }
    for (const DiskInfo& disk : disks)
        session.out += disk.name + "\t(" + to_string(disk.number) + ")\n";
    say_if_none(session, disks);
    return exit_ok;
}

} // namespace

void setup_ls(CLI::App& app, Session& session) {
    CLI::App& verb = *app.add_subcommand("ls", "List mapped devices");
    auto options = verb_options(verb, session, run);
    add_json(verb, options->json);
}

} // namespace tally
