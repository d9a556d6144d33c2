// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"
#include "verbs.hpp"

#include "blktally/device.hpp"
#include "blktally/error.hpp"

namespace tally {

namespace {

struct Options {
    std::string name;
};

int run(const Options& options, Session& session) {
    Control control = session.open();
    control.map_suspend(ref_of(find_disk(control, options.name)));
    return exit_ok;
}

} // namespace

void setup_suspend(CLI::App& app, Session& session) {
    CLI::App& verb =
        *app.add_subcommand("suspend", "Hold back new I/O and wait for what is in flight");
    auto options = verb_options(verb, session, run);
    add_word(verb, "DEV", options->name, "The device")->required();
}

} // namespace tally
