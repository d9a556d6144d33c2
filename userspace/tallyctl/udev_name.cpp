// SPDX-License-Identifier: GPL-2.0-or-later
// For the udev rule: the name of a disk's link. udev's own $attr{} would turn what it cannot use
// into '_', so that two names could become one, and would split a name at its blanks.
#include "arguments.hpp"
#include "verbs.hpp"

#include "blktally/error.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>

namespace tally {

namespace {

struct Options {
    std::string directory;
};

int run(const Options& options, Session& session) {
    const std::string path = options.directory + "/tally/name";
    std::ifstream file(path, std::ios::binary);
    std::string name((std::istreambuf_iterator<char>(file)), {});
    if (!file)
        throw Error(ENOENT, "cannot read " + path);
    if (!name.empty() && name.back() == '\n')
        name.pop_back();
    if (name.empty())
        throw Error(ENOENT, path + " is empty");
    session.out = link_name(name) + "\n";
    return exit_ok;
}

} // namespace

void setup_udev_name(CLI::App& app, Session& session) {
    CLI::App& verb = *app.add_subcommand("udev-name", "Print the link name of a disk");
    verb.group(""); // not for people
    auto options = verb_options(verb, session, run);
    add_word(verb, "SYSPATH", options->directory, "The disk's directory in /sys")->required();
}

} // namespace tally
