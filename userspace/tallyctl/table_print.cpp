// SPDX-License-Identifier: GPL-2.0-or-later
#include "table_print.hpp"

#include "disks.hpp"
#include "json.hpp"

#include "blktally/device.hpp"
#include "blktally/error.hpp"
#include "blktally/table.hpp"

#include <cerrno>
#include <sstream>

namespace tally {

namespace {

// As dmsetup does: of one device the bare lines, of all each line behind the device's name.
void print_lines(const std::string& prefix, const std::string& text, std::string& out) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        out += prefix + line + "\n";
    if (text.empty() && !prefix.empty())
        out += prefix + "\n";
}

Json segments_of(const std::string& text, const char* args) {
    Json segments = Json::array();
    for (const Segment& segment : parse_table(text))
        segments.push_back({{"start", segment.start},
                            {"length", segment.length},
                            {"target", segment.target},
                            {args, segment.args}});
    return segments;
}

} // namespace

int print_tables(const TableQuery& query, Session& session) {
    Control control = session.open();
    Json json = document(query.status ? "status" : "table");
    Json devices = Json::array();
    const std::vector<DiskInfo> disks = chosen_maps(control, query.name);
    for (const DiskInfo& disk : disks) {
        std::string text;
        try {
            text = control.map_table(ref_of(disk), query.inactive, query.status);
        } catch (const CommandError& error) {
            // Removed since the list was made: then it is not in the list.
            if (query.name.empty() && error.code().value() == ENXIO)
                continue;
            throw;
        }
        if (query.json) {
            Json device = json_brief(disk);
            device["slot"] = query.inactive ? "inactive" : "live";
            device["segments"] = segments_of(text, query.status ? "status" : "args");
            devices.push_back(std::move(device));
        } else {
            print_lines(query.name.empty() ? disk.name + ": " : "", text, session.out);
        }
    }
    json["devices"] = std::move(devices);
    if (query.json)
        session.out = text_of(json);
    else
        say_if_none(session, disks);
    return exit_ok;
}

} // namespace tally
