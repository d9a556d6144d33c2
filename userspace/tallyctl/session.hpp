// SPDX-License-Identifier: GPL-2.0-or-later
// What a verb works with. Tests put their own in place of each part.
#pragma once

#include "blktally/control.hpp"
#include "blktally/links.hpp"

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace tally {

struct Session {
    std::function<Control()> open;
    std::function<void(const std::vector<std::string>&)> load;
    Links links;
    int in = 0; // file descriptor that tables are read from
    std::ostream& err;

    // Data for stdout. It is written at the end, and only if the verb got that far: nobody is to
    // take half an answer for a whole one.
    std::string out;

    // The verb that the command line asked for; returns the exit status.
    std::function<int()> action;

    void say(const std::string& message) { err << "tallyctl: " << message << '\n'; }
};

} // namespace tally
