// SPDX-License-Identifier: GPL-2.0-or-later
// Table text: lines of "start length target arguments".
#pragma once

#include "blktally/control.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tally {

std::size_t table_limit() noexcept; // bytes of one load

// Reads up to the end of the file. Throws Error: E2BIG beyond the limit, else read(2)'s.
std::string read_table(int fd, std::size_t limit = table_limit());

// No line that says anything.
bool table_is_empty(std::string_view text);

struct Segment {
    std::uint64_t start = 0, length = 0;
    std::string target, args; // args: the words after the target, with single blanks between
};

// What can be known without the kernel: every line has its three words, numbers are numbers, and
// segments follow each other from 0 without gap or overlap. Throws Error, naming line and word.
std::vector<Segment> parse_table(std::string_view text);

using Resolve = std::function<DeviceNumber(const std::string& path)>;

// The text with each device path as major:minor; all other bytes, and so the kernel's line
// numbers, stay as they are. A path is an argument that begins with a slash.
std::string resolve_table(std::string_view text, const Resolve& resolve);

} // namespace tally
