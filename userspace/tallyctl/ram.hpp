// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "session.hpp"

#include <CLI/CLI.hpp>

namespace tally {

void setup_ram_add(CLI::App& ram, Session& session);
void setup_ram_remove(CLI::App& ram, Session& session);
void setup_ram_set(CLI::App& ram, Session& session);
void setup_ram_show(CLI::App& ram, Session& session);
void setup_ram_list(CLI::App& ram, Session& session);

} // namespace tally
