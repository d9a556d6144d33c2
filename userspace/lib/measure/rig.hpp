// SPDX-License-Identifier: GPL-2.0-or-later
// The devices of an experiment, behind one call, so that tests can do without any.
#pragma once

#include <stdexcept>
#include <string>

#include "measure/preset.hpp"

namespace tally {

// A device that this machine does not have; the message says why.
class Missing : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Rig {
public:
    virtual ~Rig() = default;
    // Sets the arm's device up if it is not there yet, switches its modes, and returns its path.
    // Throws Missing when the kernel has no such peer.
    virtual std::string enter(const Arm &arm) = 0;
};

} // namespace tally
