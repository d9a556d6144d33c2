// SPDX-License-Identifier: GPL-2.0-or-later
// What is in a sector: whose it is, which one, and of which write. Every word depends on all three,
// so that a write that was lost, torn, or went elsewhere shows, and can be told from the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tally::torture {

constexpr std::size_t sector_bytes = 512;
constexpr std::size_t sector_words = sector_bytes / sizeof(std::uint64_t);

struct Stamp {
    std::uint64_t job = 0;
    std::uint64_t sector = 0;     // on the device that the job writes to
    std::uint64_t generation = 0; // of the job's writes; 0: never written, or cleared
};

void fill(std::uint64_t* sector, const Stamp& stamp) noexcept;
bool matches(const std::uint64_t* sector, const Stamp& stamp) noexcept;

// Makes sure that a read which moves nothing is not taken for one that moved the right bytes.
void poison(std::uint64_t* sector) noexcept;

// What is there instead, for people.
std::string difference(const std::uint64_t* sector, const Stamp& wanted);

} // namespace tally::torture
