// SPDX-License-Identifier: GPL-2.0-or-later
// What table and status have in common: the same lines with other words at their ends.
#pragma once

#include "session.hpp"

#include <string>

namespace tally {

struct TableQuery {
    std::string name; // empty: all devices
    bool inactive = false, json = false, status = false;
};

int print_tables(const TableQuery& query, Session& session);

} // namespace tally
