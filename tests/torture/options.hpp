// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

namespace tally::torture {

struct Options {
    std::uint64_t seed = 0; // drawn, if none was given
    double seconds = 60;
    bool hotplug = true;
    bool load = true; // runs of tally_gen
};

// Exits with 0 after --help, with 2 when the arguments make no sense.
Options parse_options(int argc, char** argv);

} // namespace tally::torture
