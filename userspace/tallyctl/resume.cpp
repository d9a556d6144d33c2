// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"
#include "devices.hpp"
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
    const DiskRef ref = ref_of(find_disk(control, options.name));
    patiently(session, [&] { control.map_resume(ref); });
    return exit_ok;
}

} // namespace

void setup_resume(CLI::App& app, Session& session) {
    CLI::App& verb = *app.add_subcommand("resume", "Make the inactive table live and let I/O go");
    auto options = verb_options(verb, session, run);
    add_word(verb, "DEV", options->name, "The device")->required();
}

} // namespace tally
