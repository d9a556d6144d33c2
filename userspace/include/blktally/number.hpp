// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers as users type them: [0-9]+ and nothing else, by the kernel's own parser.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace tally {

// Both throw std::invalid_argument, naming the text and, where it is too large, the limit.
std::uint64_t parse_number(std::string_view text,
                           std::uint64_t max = std::numeric_limits<std::uint64_t>::max());

// Bytes; K, M, G and T (in either case) are powers of 1024.
std::uint64_t parse_size(std::string_view text,
                         std::uint64_t max = std::numeric_limits<std::uint64_t>::max());

} // namespace tally
