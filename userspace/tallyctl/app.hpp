// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "session.hpp"

namespace tally {

// Reads the command line and runs its verb. Returns the exit status; data is in session.out.
int run_app(int argc, const char* const* argv, Session& session);

} // namespace tally
