// SPDX-License-Identifier: GPL-2.0-or-later
// tallybench: measures block devices, and says "undecided" when it is.
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include "output.hpp"
#include "verbs.hpp"

namespace tally::bench {
namespace {

void say(const std::string &text) { std::fprintf(stderr, "tallybench: %s\n", text.c_str()); }

int parse_error(const CLI::App &app, const CLI::ParseError &error) {
    std::ostringstream out, ignored;
    if (app.exit(error, out, ignored) == 0) { // --help, --version
        print(out.str());
        return exit_ok;
    }
    // CLI11 misses a verb before it complains of the word in its place.
    const std::vector<std::string> unknown = app.remaining(true);
    say(unknown.empty() ? error.what() : "not understood: \"" + unknown.front() + "\"; try --help");
    return exit_usage;
}

int run(int argc, char **argv) {
    CLI::App app{"Measures what I/O accounting costs, and how sure that is."};
    app.name("tallybench");
    app.set_version_flag("--version", "tallybench " TALLY_VERSION);
    app.require_subcommand(1);
    app.fallthrough(false);

    Action action;
    for (const auto &setup : {setup_run, setup_experiment, setup_cost})
        setup(app, action);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return parse_error(app, error);
    }
    return action();
}

} // namespace
} // namespace tally::bench

int main(int argc, char **argv) {
    using namespace tally::bench;
    try {
        return run(argc, argv);
    } catch (const std::exception &error) {
        say(error.what());
        return exit_status(error);
    }
}
