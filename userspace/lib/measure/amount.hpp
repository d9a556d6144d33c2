// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers as people write them. Each function throws UsageError naming what was asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tally {

// Decimal digits alone, in [low, high].
std::uint64_t
parse_count(std::string_view what, std::string_view text, std::uint64_t low, std::uint64_t high);

// Bytes; a K, M or G behind the digits is a power of 1024.
std::uint64_t parse_bytes(std::string_view what, std::string_view text);

// "2" and "0.5" are seconds, "400ms" is what it says. More than zero, at most a day.
std::chrono::nanoseconds parse_time(std::string_view what, std::string_view text);

// "2%" or "0.02", as a fraction between 0 and 1, both excluded.
double parse_fraction(std::string_view what, std::string_view text);

} // namespace tally
