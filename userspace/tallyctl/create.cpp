// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"
#include "devices.hpp"
#include "signals.hpp"
#include "table_source.hpp"
#include "verbs.hpp"

#include "blktally/error.hpp"

namespace tally {

namespace {

struct Options {
    std::string name, uuid, profile;
    TableSource table;
    bool notable = false, read_only = false, no_load = false;
};

int run(const Options& options, Session& session) {
    // All that can go wrong without the kernel goes wrong before there is a device.
    const std::string table = options.notable ? std::string() : options.table.read(session);
    if (!options.no_load)
        session.load({"tally_map"});
    Control control = session.open();
    const SignalsHeld held;

    auto undo = [&](const DiskRef& ref) { control.map_remove(ref); };
    const Created created = make_device(
        session,
        options.name,
        [&] {
            return control.map_create(
                options.name, options.uuid, options.profile, options.read_only);
        },
        undo);
    if (table.empty())
        return exit_ok;

    const DiskRef ref{options.name, {}};
    try {
        control.map_load(ref, table, options.read_only);
        patiently(session, [&] { control.map_resume(ref); });
    } catch (...) {
        unmake_device(session, ref, created.disk, undo);
        throw;
    }
    session.links
        .settle(); // udevd looks at the device once more, now that there is something in it
    return exit_ok;
}

} // namespace

void setup_create(CLI::App& app, Session& session) {
    CLI::App& verb = *app.add_subcommand("create", "Create a mapped device");
    auto options = verb_options(verb, session, run);
    add_word(verb, "NAME", options->name, "Its name")->required();
    options->table.setup(verb);
    verb.add_flag("--notable", options->notable, "Without a table")->excludes("--table");
    add_word(verb, "-u,--uuid", options->uuid, "Its UUID")->type_name("UUID");
    add_word(verb, "--profile", options->profile, "Its accounting profile")->type_name("PROFILE");
    verb.add_flag("-r,--readonly", options->read_only, "Refuse writes");
    add_no_load(verb, options->no_load);
}

} // namespace tally
