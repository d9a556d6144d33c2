// SPDX-License-Identifier: GPL-2.0-or-later
// Where create and load take a table from.
#pragma once

#include "session.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace tally {

struct TableSource {
    std::string text; // of --table
    bool given = false;

    void setup(CLI::App& verb);

    // The text with device paths resolved and its form checked; empty if there is no line in it.
    std::string read(const Session& session) const;
};

} // namespace tally
