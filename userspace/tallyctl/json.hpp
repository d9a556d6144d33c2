// SPDX-License-Identifier: GPL-2.0-or-later
// The JSON that readers print; docs/schema/ describes it.
#pragma once

#include "blktally/control.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace tally {

using Json = nlohmann::ordered_json;

// {"schema": "blktally/VERB/1"}, to be filled in.
Json document(const std::string& verb);

// Text of a whole document. Bytes that are not UTF-8 become U+FFFD: JSON cannot hold them.
std::string text_of(const Json& json);

Json json_of(const Modes& modes);
Json json_of(const DiskInfo& disk);    // all there is
Json json_brief(const DiskInfo& disk); // name and number, to which other things are added
std::string version_text(const std::array<std::uint32_t, 3>& version);

} // namespace tally
