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

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text + " ";
}

int run(const Options& options, Session& session) {
    Control control = session.open();
    Json json = document("profiles");
    json["profiles"] = Json::array();
    std::string text;
    for (const ProfileInfo& profile : control.profiles()) {
        json["profiles"].push_back(
            {{"name", profile.name}, {"modes", json_of(profile.modes)}, {"about", profile.about}});
        text += padded(profile.name, 12) + padded(profile.modes.inflight, 8) +
                padded(profile.modes.pending, 7) + padded(profile.modes.ticks, 8) +
                padded(profile.modes.clock, 8) + profile.about + "\n";
    }
    session.out = options.json ? text_of(json) : text;
    return exit_ok;
}

} // namespace

void setup_profiles(CLI::App& app, Session& session) {
    CLI::App& verb = *app.add_subcommand(
        "profiles", "List accounting profiles: name, inflight, pending, ticks, clock");
    auto options = verb_options(verb, session, run);
    add_json(verb, options->json);
}

} // namespace tally
