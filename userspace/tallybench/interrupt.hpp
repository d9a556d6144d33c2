// SPDX-License-Identifier: GPL-2.0-or-later
// Ctrl-C and its kin: the first asks for an orderly end, the second ends at once.
#pragma once

#include <string>

#include "measure/stop.hpp"

namespace tally::bench {

// Installs the handlers when it is first called. `left` is told by the second signal: what may
// stay behind.
const Stop &stop_on_signal(const std::string &left = {});

} // namespace tally::bench
