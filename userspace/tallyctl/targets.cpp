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
    Json json = document("targets");
    json["targets"] = Json::array();
    for (const TargetInfo& target : control.map_targets()) {
        const std::string version = version_text(target.version);
        json["targets"].push_back(
            {{"name", target.name}, {"version", version}, {"about", target.about}});
        std::string name = target.name;
        name.resize(std::max<std::size_t>(name.size(), 16), ' ');
        if (!options.json)
            session.out += name + " v" + version + "\n";
    }
    if (options.json)
        session.out = text_of(json);
    return exit_ok;
}

} // namespace

void setup_targets(CLI::App& app, Session& session) {
    CLI::App& verb = *app.add_subcommand("targets", "List the targets that tables can name");
    auto options = verb_options(verb, session, run);
    add_json(verb, options->json);
}

} // namespace tally
