// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tally {

using Cpus = std::vector<std::uint32_t>;

// "0-3,8" as the kernel writes it. Throws UsageError on anything else; does not ask who is there.
Cpus parse_cpus(std::string_view text);
std::string format_cpus(const Cpus &cpus);

Cpus online_cpus();
Cpus allowed_cpus(); // of the calling thread

// Throws UsageError that names the first CPU that is not on line, and the range that is.
void require_online(const Cpus &cpus, const Cpus &online);

} // namespace tally
