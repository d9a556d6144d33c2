// SPDX-License-Identifier: GPL-2.0-or-later
// tallybench: measures block devices, and says "undecided" when it is.
#include <cstdio>
#include <exception>

#include "output.hpp"
#include "verbs.hpp"

int main(int argc, char **argv) {
    using namespace tally::bench;
    CLI::App app{"Measures what I/O accounting costs, and how sure that is."};
    app.name("tallybench");
    app.require_subcommand(1);
    app.fallthrough(false);

    Action action;
    for (const auto &setup : {setup_run, setup_experiment, setup_cost})
        setup(app, action);
    try {
        app.parse(argc, argv);
        return action();
    } catch (const CLI::ParseError &error) {
        const int status = app.exit(error); // help goes to stdout, the rest to stderr
        return status == 0 ? exit_ok : exit_usage;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "tallybench: %s\n", error.what());
        return exit_status(error);
    }
}
