# SPDX-License-Identifier: GPL-2.0-or-later
# Writes OUTPUT, and only when it changes, so that nothing is rebuilt for nothing.
execute_process(
  COMMAND git describe --always --dirty --tags
  WORKING_DIRECTORY ${SOURCE}
  OUTPUT_VARIABLE revision
  OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_QUIET
)
if(NOT revision)
  set(revision "${VERSION}")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
// SPDX-License-Identifier: GPL-2.0-or-later
// Written by revision.cmake.
#pragma once
namespace tally {
inline constexpr const char* source_revision = "@revision@";
inline constexpr const char* source_version = "@VERSION@";
} // namespace tally
]] @ONLY)
