// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"
#include "verbs.hpp"

#include "blktally/device.hpp"
#include "blktally/error.hpp"

namespace tally {

namespace {

struct Options {
    std::string name, profile;
    Modes modes;
};

// "AXIS=MODE", "profile=PROFILE" or a profile alone.
void assign(const std::string& setting, Options& options) {
    const std::size_t equals = setting.find('=');
    const std::string key = equals == setting.npos ? "profile" : setting.substr(0, equals);
    const std::string value = equals == setting.npos ? setting : setting.substr(equals + 1);
    std::string* word = key == "profile"    ? &options.profile
                        : key == "inflight" ? &options.modes.inflight
                        : key == "pending"  ? &options.modes.pending
                        : key == "ticks"    ? &options.modes.ticks
                        : key == "clock"    ? &options.modes.clock
                                            : nullptr;
    if (!word)
        throw CLI::ValidationError(
            "SETTING", "\"" + key + "\" is none of profile, inflight, pending, ticks, clock");
    if (value.empty())
        throw CLI::ValidationError("SETTING", key + " is empty");
    if (!word->empty())
        throw CLI::ValidationError("SETTING", key + " is given twice");
    *word = value;
}

int run(const Options& options, Session& session) {
    Control control = session.open();
    control.set(ref_of(find_disk(control, options.name)), options.profile, options.modes);
    return exit_ok;
}

} // namespace

void setup_set(CLI::App& app, Session& session) {
    CLI::App& verb = *app.add_subcommand("set", "Switch a device's accounting, live");
    auto options = verb_options(verb, session, run);
    add_word(verb, "DEV", options->name, "The device")->required();
    literal(verb.add_option_function<std::vector<std::string>>(
            "SETTING",
            [options](const std::vector<std::string>& settings) {
                for (const std::string& setting : settings)
                    assign(setting, *options);
            },
            "PROFILE, profile=PROFILE, or any of inflight=, pending=, ticks=, clock="))
        ->required()
        ->type_name("");
}

} // namespace tally
