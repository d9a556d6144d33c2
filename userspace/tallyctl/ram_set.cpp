// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"
#include "ram.hpp"
#include "verbs.hpp"

#include "blktally/device.hpp"
#include "blktally/error.hpp"

namespace tally {

namespace {

struct Options {
    std::string name;
    std::vector<std::pair<std::string, std::string>> settings;
};

// "SETTING=VALUE"; sizes may have a unit.
std::pair<std::string, std::string> setting_of(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos || equals == 0 || equals + 1 == text.size())
        throw CLI::ValidationError("SETTING", "\"" + text + "\" is not SETTING=VALUE");
    std::string name = text.substr(0, equals), value = text.substr(equals + 1);
    if (name == "size" || name == "bandwidth")
        value = std::to_string(size_of(name, value));
    return {name, value};
}

int run(const Options& options, Session& session) {
    Control control = session.open();
    const DiskRef ref = ref_of(find_disk(control, options.name));
    for (const auto& [name, value] : options.settings)
        control.ram_set(ref, name, value);
    return exit_ok;
}

} // namespace

void setup_ram_set(CLI::App& ram, Session& session) {
    CLI::App& verb = *ram.add_subcommand("set", "Change settings of a disk, live");
    auto options = verb_options(verb, session, run);
    add_word(verb, "DEV", options->name, "The disk")->required();
    literal(verb.add_option_function<std::vector<std::string>>(
                "SETTING",
                [options](const std::vector<std::string>& texts) {
                    for (const std::string& text : texts)
                        options->settings.push_back(setting_of(text));
                },
                "SETTING=VALUE, in this order; ram show has them"))
        ->required()
        ->type_name("");
}

} // namespace tally
