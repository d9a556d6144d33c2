// SPDX-License-Identifier: GPL-2.0-or-later
// The way to each documented error: what has not been seen yet is asked for.
#pragma once

#include "request.hpp"

namespace fuzz {

// Makes of a valid request one that should fail with this error, as far as things allow: others
// may be at work on the same disks. False: not now.
bool provoke(Request& rq, int error, const World& world, Random& random);

} // namespace fuzz
