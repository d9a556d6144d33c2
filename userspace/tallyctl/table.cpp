// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"
#include "table_print.hpp"
#include "verbs.hpp"

namespace tally {

namespace {

int run(const TableQuery& query, Session& session) { return print_tables(query, session); }

} // namespace

void setup_table(CLI::App& app, Session& session) {
    CLI::App& verb = *app.add_subcommand("table", "Print tables, in the form that load takes");
    auto query = verb_options(verb, session, run);
    query->status = false;
    add_word(verb, "DEV", query->name, "The device; without it all mapped devices");
    verb.add_flag("--inactive", query->inactive, "Of the inactive slot");
    add_json(verb, query->json);
}

} // namespace tally
