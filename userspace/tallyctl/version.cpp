// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"
#include "json.hpp"
#include "verbs.hpp"

#include "blktally/error.hpp"

namespace tally {

namespace {

struct Options {
    bool json = false;
};

int run(const Options& options, Session& session) {
    Control control = session.open();
    const CoreInfo info = control.info();
    const std::string driver = version_text(info.version);
    if (!options.json) {
        session.out = "Library version:   " TALLY_VERSION "\nDriver version:    " + driver + "\n";
        return exit_ok;
    }
    Json json = document("version");
    json["library"] = TALLY_VERSION;
    json["driver"] = driver;
    json["abi"] = info.abi;
    json["modules"] = {{"tally_ram", info.ram}, {"tally_map", info.map}, {"tally_gen", info.gen}};
    json["limits"] = {{"name", info.name_max},
                      {"uuid", info.uuid_max},
                      {"table", info.table_max},
                      {"segments", info.segments_max},
                      {"depth", info.depth_max},
                      {"gen_threads", info.gen_threads_max},
                      {"gen_depth", info.gen_depth_max},
                      {"gen_block", info.gen_block_max}};
    session.out = text_of(json);
    return exit_ok;
}

} // namespace

void setup_version(CLI::App& app, Session& session) {
    CLI::App& verb = *app.add_subcommand("version", "Print the tool's and the modules' version");
    auto options = verb_options(verb, session, run);
    add_json(verb, options->json);
}

} // namespace tally
