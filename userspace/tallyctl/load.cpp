// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"
#include "table_source.hpp"
#include "verbs.hpp"

#include "blktally/device.hpp"
#include "blktally/error.hpp"

#include <cerrno>

namespace tally {

namespace {

struct Options {
    std::string name;
    TableSource table;
    bool read_only = false;
};

int run(const Options& options, Session& session) {
    const std::string table = options.table.read(session);
    if (table.empty())
        throw Error(EINVAL, "the table is empty");
    Control control = session.open();
    control.map_load(ref_of(find_disk(control, options.name)), table, options.read_only);
    return exit_ok;
}

} // namespace

void setup_load(CLI::App& app, Session& session) {
    CLI::App& verb = *app.add_subcommand("load", "Load a table into the inactive slot");
    verb.alias("reload");
    auto options = verb_options(verb, session, run);
    add_word(verb, "DEV", options->name, "The device")->required();
    options->table.setup(verb);
    verb.add_flag("-r,--readonly", options->read_only, "Refuse writes");
}

} // namespace tally
