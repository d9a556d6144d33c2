// SPDX-License-Identifier: GPL-2.0-or-later
#include "json.hpp"

namespace tally {

Json document(const std::string& verb) { return {{"schema", "blktally/" + verb + "/1"}}; }

std::string text_of(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json json_of(const Modes& modes) {
    return {{"inflight", modes.inflight},
            {"pending", modes.pending},
            {"ticks", modes.ticks},
            {"clock", modes.clock}};
}

Json json_brief(const DiskInfo& disk) {
    return {{"name", disk.name},
            {"disk", disk.disk},
            {"major", disk.number.major},
            {"minor", disk.number.minor}};
}

Json json_of(const DiskInfo& disk) {
    const char* kind = disk.kind == DiskKind::map   ? "map"
                       : disk.kind == DiskKind::ram ? "ram"
                                                    : "unknown";
    Json json = json_brief(disk);
    json.update(Json{{"kind", kind},
                     {"uuid", disk.uuid},
                     {"sectors", disk.sectors},
                     {"block_size", disk.block_size},
                     {"read_only", disk.read_only},
                     {"suspended", disk.suspended},
                     {"live_table", disk.live},
                     {"inactive_table", disk.inactive},
                     {"open_count", disk.open_count},
                     {"events", disk.events},
                     {"segments", disk.segments},
                     {"profile", disk.profile},
                     {"modes", json_of(disk.modes)},
                     {"switches", disk.switches},
                     {"detail", disk.detail}});
    return json;
}

std::string version_text(const std::array<std::uint32_t, 3>& version) {
    return std::to_string(version[0]) + "." + std::to_string(version[1]) + "." +
           std::to_string(version[2]);
}

} // namespace tally
