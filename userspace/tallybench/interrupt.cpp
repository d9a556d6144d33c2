// SPDX-License-Identifier: GPL-2.0-or-later
#include "interrupt.hpp"

#include <csignal>

#include <unistd.h>

namespace tally::bench {
namespace {

Stop *current;

void on_signal(int signal) {
    if (current->requested())
        _exit(128 + signal);
    current->request(signal);
}

} // namespace

const Stop &stop_on_signal() {
    static Stop stop;
    if (current == nullptr) {
        current = &stop;
        struct sigaction action {};
        action.sa_handler = on_signal; // no SA_RESTART: whoever waits must look at the flag
        for (int signal : {SIGINT, SIGTERM, SIGHUP})
            sigaction(signal, &action, nullptr);
        std::signal(SIGPIPE, SIG_IGN); // a reader that left is an error of writing, not our end
    }
    return stop;
}

} // namespace tally::bench
