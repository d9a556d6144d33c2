// SPDX-License-Identifier: GPL-2.0-or-later
// The files of userspace/experiments, as they stood when the program was built.
#pragma once

#include <string_view>
#include <vector>

namespace tally {

extern const std::vector<std::string_view> preset_texts;

} // namespace tally
