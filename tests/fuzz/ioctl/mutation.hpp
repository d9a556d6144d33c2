// SPDX-License-Identifier: GPL-2.0-or-later
// Ways to spoil a valid request.
#pragma once

#include <span>

#include "request.hpp"

namespace fuzz {

struct Mutation {
    const char* name;
    // Changes the request; false if it has nothing for this one to change.
    bool (*apply)(Request& rq, const World& world, Random& random);
};

std::span<const Mutation> mutations();
// Those that leave a request what it was: a well-meaning caller may do them.
std::span<const Mutation> variations();

uint64_t nowhere(Random& random); // an address at which nothing of ours lies
uint64_t odd_number(Random& random);

} // namespace fuzz
