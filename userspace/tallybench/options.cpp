// SPDX-License-Identifier: GPL-2.0-or-later
#include "options.hpp"

#include <limits>
#include <random>

#include "measure/amount.hpp"
#include "measure/job.hpp"

namespace tally::bench {
namespace {

// An option that `parse` turns into a value; what it refuses is a usage error.
template <typename Value, typename Parse>
CLI::Option *add_parsed(
    CLI::App &app, const std::string &name, Value &value, const std::string &about, Parse parse) {
    const auto take = [&value, parse](const std::string &text) {
        try {
            value = static_cast<Value>(parse(text));
        } catch (const UsageError &error) {
            throw CLI::ValidationError(error.what());
        }
    };
    return app.add_option_function<std::string>(name, take, about);
}

} // namespace

template <typename Number>
CLI::Option *add_count(CLI::App &app,
                       const std::string &name,
                       Number &value,
                       std::uint64_t low,
                       std::uint64_t high,
                       const std::string &about) {
    return add_parsed(app, name, value, about, [=](const std::string &text) {
        return parse_count(name, text, low, high);
    });
}
template CLI::Option *add_count(CLI::App &,
                                const std::string &,
                                std::uint32_t &,
                                std::uint64_t,
                                std::uint64_t,
                                const std::string &);
template CLI::Option *add_count(CLI::App &,
                                const std::string &,
                                std::uint64_t &,
                                std::uint64_t,
                                std::uint64_t,
                                const std::string &);

CLI::Option *
add_bytes(CLI::App &app, const std::string &name, std::uint64_t &value, const std::string &about) {
    return add_parsed(
        app, name, value, about, [=](const std::string &text) { return parse_bytes(name, text); });
}

CLI::Option *add_time(CLI::App &app,
                      const std::string &name,
                      std::chrono::nanoseconds &value,
                      const std::string &about) {
    return add_parsed(
        app, name, value, about, [=](const std::string &text) { return parse_time(name, text); });
}

CLI::Option *
add_fraction(CLI::App &app, const std::string &name, double &value, const std::string &about) {
    return add_parsed(app, name, value, about, [=](const std::string &text) {
        return parse_fraction(name, text);
    });
}

CLI::Option *add_cpus(CLI::App &app, Cpus &value) {
    return add_parsed(app,
                      "--cpus",
                      value,
                      "CPUs to run on, in turn, as \"0-3,8\" (default: all we may use)",
                      [](const std::string &text) {
                          Cpus cpus = parse_cpus(text);
                          require_online(cpus, online_cpus());
                          return cpus;
                      });
}

CLI::Option *add_seed(CLI::App &app, std::optional<std::uint64_t> &value) {
    return add_parsed(app,
                      "--seed",
                      value,
                      "seed of all that is drawn (default: a new one, printed)",
                      [](const std::string &text) {
                          return parse_count(
                              "--seed", text, 0, std::numeric_limits<std::uint64_t>::max());
                      });
}

void add_json(CLI::App &app, JsonOption &value) {
    // A flag that may have a value: an option would take the next word for its file.
    app.add_flag("--json{-}",
                 value.file,
                 "=FILE: write one JSON document to FILE (default: stdout, in place of the table)");
}

std::uint64_t seed_or_random(const std::optional<std::uint64_t> &seed) {
    // 32 bits are enough to draw from, and short enough to type.
    return seed ? *seed : std::random_device{}();
}

} // namespace tally::bench
