// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"
#include "devices.hpp"
#include "verbs.hpp"

namespace tally {

namespace {

struct Options {
    std::vector<std::string> names;
};

int run(const Options& options, Session& session) {
    Control control = session.open();
    return remove_devices(
        session, control, options.names, [&](const DiskRef& ref) { control.map_remove(ref); });
}

} // namespace

void setup_remove(CLI::App& app, Session& session) {
    CLI::App& verb = *app.add_subcommand("remove", "Remove mapped devices");
    auto options = verb_options(verb, session, run);
    add_words(verb, "DEV", options->names, "The devices")->required();
}

} // namespace tally
