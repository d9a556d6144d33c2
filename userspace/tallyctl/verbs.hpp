// SPDX-License-Identifier: GPL-2.0-or-later
// One setup function per verb, each in the file of its name: it declares the verb's options and
// leaves the verb in session.action if the command line names it. A new verb is one file and one
// row in app.cpp.
#pragma once

#include "session.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace tally {

void setup_create(CLI::App& app, Session& session);
void setup_load(CLI::App& app, Session& session);
void setup_resume(CLI::App& app, Session& session);
void setup_suspend(CLI::App& app, Session& session);
void setup_clear(CLI::App& app, Session& session);
void setup_remove(CLI::App& app, Session& session);
void setup_table(CLI::App& app, Session& session);
void setup_status(CLI::App& app, Session& session);
void setup_info(CLI::App& app, Session& session);
void setup_ls(CLI::App& app, Session& session);
void setup_deps(CLI::App& app, Session& session);
void setup_targets(CLI::App& app, Session& session);
void setup_version(CLI::App& app, Session& session);
void setup_ram(CLI::App& app, Session& session);
void setup_set(CLI::App& app, Session& session);
void setup_profiles(CLI::App& app, Session& session);
void setup_modes(CLI::App& app, Session& session);
void setup_udev_name(CLI::App& app, Session& session);

// A verb whose options live as long as the command line may run it.
template <class Options>
std::shared_ptr<Options>
verb_options(CLI::App& verb, Session& session, int (*run)(const Options&, Session&)) {
    auto options = std::make_shared<Options>();
    verb.callback([options, run, &session] {
        session.action = [options, run, &session] { return run(*options, session); };
    });
    return options;
}

} // namespace tally
