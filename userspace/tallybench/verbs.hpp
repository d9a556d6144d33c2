// SPDX-License-Identifier: GPL-2.0-or-later
// Each verb adds itself to the command line and says what is to be done when it was chosen.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace tally::bench {

using Action = std::function<int()>;

void setup_run(CLI::App &app, Action &action);
void setup_experiment(CLI::App &app, Action &action);
void setup_cost(CLI::App &app, Action &action);

} // namespace tally::bench
