// SPDX-License-Identifier: GPL-2.0-or-later
#include "table_source.hpp"

#include "arguments.hpp"

#include "blktally/device.hpp"
#include "blktally/table.hpp"

namespace tally {

void TableSource::setup(CLI::App& verb) {
    literal(verb.add_option_function<std::string>(
            "--table",
            [this](const std::string& table) {
                text = table;
                given = true;
            },
            "The table; without it the table is read from standard input"))
        ->type_name("TEXT");
}

std::string TableSource::read(const Session& session) const {
    const std::string raw = given ? text : read_table(session.in);
    if (table_is_empty(raw))
        return {};
    std::string table = resolve_table(raw, block_device_number);
    parse_table(table);
    return table;
}

} // namespace tally
