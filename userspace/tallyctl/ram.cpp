// SPDX-License-Identifier: GPL-2.0-or-later
#include "ram.hpp"

#include "verbs.hpp"

namespace tally {

void setup_ram(CLI::App& app, Session& session) {
    CLI::App& ram = *app.add_subcommand("ram", "Null and RAM disks");
    ram.require_subcommand(1);
    setup_ram_add(ram, session);
    setup_ram_remove(ram, session);
    setup_ram_set(ram, session);
    setup_ram_show(ram, session);
    setup_ram_list(ram, session);
}

} // namespace tally
