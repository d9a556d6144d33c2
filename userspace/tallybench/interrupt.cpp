// SPDX-License-Identifier: GPL-2.0-or-later
#include "interrupt.hpp"

#include <csignal>

#include <unistd.h>

namespace tally::bench {
namespace {

Stop *current;
const std::string *farewell; // never freed: a signal may come at the very end

void on_signal(int signal) {
    if (current->requested()) {
        [[maybe_unused]] const ssize_t written =
            write(STDERR_FILENO, farewell->data(), farewell->size());
        _exit(128 + signal);
    }
    current->request(signal);
}

} // namespace

const Stop &stop_on_signal(const std::string &left) {
    static Stop stop;
    if (current == nullptr) {
        current = &stop;
        farewell = new std::string(
            left.empty() ? "" : "\ntallybench: ended at once; this may be left: " + left + "\n");
        struct sigaction action {};
        action.sa_handler = on_signal; // no SA_RESTART: whoever waits must look at the flag
        for (int signal : {SIGINT, SIGTERM, SIGHUP})
            sigaction(signal, &action, nullptr);
        std::signal(SIGPIPE, SIG_IGN); // a reader that left is an error of writing, not our end
    }
    return stop;
}

} // namespace tally::bench
