// SPDX-License-Identifier: GPL-2.0-or-later
// Files of one value or one line, and the numbers in them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tally::torture {

// 0, or why it could not be read.
int read_file(const std::string& path, std::string& text);
// As above; throws Error.
std::string read_file(const std::string& path);
// In one write; throws Error.
void write_file(const std::string& path, const std::string& text);
// Throws Error if there is anything else in it, a sign too.
std::vector<std::uint64_t> numbers(const std::string& text);

} // namespace tally::torture
