# SPDX-License-Identifier: GPL-2.0-or-later
# Writes OUTPUT: the text of each of FILES as a string.
set(entries "")
foreach(file IN LISTS FILES)
  file(READ ${file} text)
  string(APPEND entries "    R\"preset(${text})preset\",\n")
endforeach()
file(WRITE ${OUTPUT} "// SPDX-License-Identifier: GPL-2.0-or-later
// Written by embed.cmake.
#include \"presets.hpp\"
namespace tally {
const std::vector<std::string_view> preset_texts{
${entries}};
} // namespace tally
")
