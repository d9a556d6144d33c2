// SPDX-License-Identifier: GPL-2.0-or-later
// Options whose values are checked while the command line is read, so that a bad one is a usage
// error that names itself.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "measure/cpus.hpp"

namespace tally::bench {

template <typename Number>
CLI::Option *add_count(CLI::App &app,
                       const std::string &name,
                       Number &value,
                       std::uint64_t low,
                       std::uint64_t high,
                       const std::string &about);
CLI::Option *
add_bytes(CLI::App &app, const std::string &name, std::uint64_t &value, const std::string &about);
CLI::Option *add_time(CLI::App &app,
                      const std::string &name,
                      std::chrono::nanoseconds &value,
                      const std::string &about);
CLI::Option *
add_fraction(CLI::App &app, const std::string &name, double &value, const std::string &about);
CLI::Option *add_cpus(CLI::App &app, Cpus &value);
CLI::Option *add_seed(CLI::App &app, std::optional<std::uint64_t> &value);

// --json[=FILE]: without a file the document goes to stdout.
struct JsonOption {
    std::string file; // "-": stdout; empty: none
    bool to_stdout() const { return file == "-"; }
    bool to_file() const { return !file.empty() && !to_stdout(); }
};
void add_json(CLI::App &app, JsonOption &value);

// The seed that was given, or one drawn from the system.
std::uint64_t seed_or_random(const std::optional<std::uint64_t> &seed);

} // namespace tally::bench
