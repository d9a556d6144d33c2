// SPDX-License-Identifier: GPL-2.0-or-later
#include "app.hpp"

#include "arguments.hpp"
#include "verbs.hpp"

#include "blktally/error.hpp"

#include <sstream>

namespace tally {

namespace {

// In the order of --help.
// clang-format off
constexpr void (*verbs[])(CLI::App&, Session&) = {
    setup_create, setup_load, setup_resume, setup_suspend, setup_clear, setup_remove,
    setup_table, setup_status, setup_info, setup_ls, setup_deps, setup_targets,
    setup_ram,
    setup_set, setup_profiles, setup_modes,
    setup_version, setup_udev_name,
};
// clang-format on

int parse_error(const CLI::App& app, const CLI::ParseError& error, Session& session) {
    std::ostringstream out, ignored;
    if (app.exit(error, out, ignored) == 0) { // --help, --version
        session.out = out.str();
        return exit_ok;
    }
    // CLI11 misses a verb before it complains of the word in its place.
    const std::vector<std::string> unknown = app.remaining(true);
    if (unknown.empty())
        session.say(error.what());
    else
        session.say("not understood: \"" + unguarded(unknown.front()) + "\"; try --help");
    return exit_usage;
}

} // namespace

int run_app(int argc, const char* const* argv, Session& session) {
    CLI::App app("Creates and switches blktally's block devices", "tallyctl");
    app.set_version_flag("--version", "tallyctl " TALLY_VERSION);
    app.require_subcommand(1);
    for (auto setup : verbs)
        setup(app, session);

    try {
        app.parse(guarded(argc, argv));
    } catch (const CLI::ParseError& error) {
        return parse_error(app, error, session);
    }

    try {
        return session.action();
    } catch (const std::system_error& error) {
        session.say(error.what());
        return exit_status(error.code());
    } catch (const std::exception& error) {
        session.say(error.what());
        return exit_failed;
    }
}

} // namespace tally
