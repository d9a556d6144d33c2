// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"
#include "devices.hpp"
#include "ram.hpp"
#include "verbs.hpp"

namespace tally {

namespace {

struct Options {
    std::vector<std::string> names;
    bool force = false;
};

int run(const Options& options, Session& session) {
    Control control = session.open();
    return remove_devices(session, control, options.names, [&](const DiskRef& ref) {
        control.ram_remove(ref, options.force);
    });
}

} // namespace

void setup_ram_remove(CLI::App& ram, Session& session) {
    CLI::App& verb = *ram.add_subcommand("remove", "Remove disks");
    auto options = verb_options(verb, session, run);
    add_words(verb, "DEV", options->names, "The disks")->required();
    verb.add_flag("-f,--force", options->force, "Even while open; openers then get errors");
}

} // namespace tally
