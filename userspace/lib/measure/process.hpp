// SPDX-License-Identifier: GPL-2.0-or-later
// Other people's tools (dmsetup, modprobe), run without a shell.
#pragma once

#include <string>
#include <vector>

namespace tally {

struct Finished {
    int status = 0;     // exit status; 127 when the program could not be run, 128+n on a signal
    std::string output; // stdout and stderr
};

Finished run_process(const std::vector<std::string> &arguments);

} // namespace tally
