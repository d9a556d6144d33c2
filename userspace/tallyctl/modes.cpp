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
    Json json = document("modes");
    json["modes"] = Json::array();
    std::string text;
    for (const ModeInfo& mode : control.modes()) {
        json["modes"].push_back({{"axis", mode.axis}, {"name", mode.name}, {"about", mode.about}});
        std::string setting = mode.axis + "=" + mode.name;
        setting.resize(std::max<std::size_t>(setting.size(), 17), ' ');
        text += setting + " " + mode.about + "\n";
    }
    session.out = options.json ? text_of(json) : text;
    return exit_ok;
}

} // namespace

void setup_modes(CLI::App& app, Session& session) {
    CLI::App& verb = *app.add_subcommand("modes", "List accounting modes");
    auto options = verb_options(verb, session, run);
    add_json(verb, options->json);
}

} // namespace tally
