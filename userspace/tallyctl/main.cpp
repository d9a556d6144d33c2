// SPDX-License-Identifier: GPL-2.0-or-later
#include "app.hpp"

#include "blktally/error.hpp"

#include <csignal>
#include <iostream>

int main(int argc, char** argv) {
    // A reader that went away is a failed write, with a message and an exit status.
    std::signal(SIGPIPE, SIG_IGN);

    tally::Session session{
        .open = [] { return tally::Control(tally::open_control_port()); },
        .load = tally::load_modules,
        .links = {},
        .in = 0,
        .err = std::cerr,
        .out = {},
        .action = {},
    };
    int status = tally::run_app(argc, argv, session);

    std::cout << session.out << std::flush;
    if (!std::cout) {
        session.say("cannot write to standard output");
        if (status == tally::exit_ok)
            status = tally::exit_failed;
    }
    return status;
}
