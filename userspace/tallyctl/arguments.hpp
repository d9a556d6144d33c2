// SPDX-License-Identifier: GPL-2.0-or-later
// Kinds of option values that several verbs take. All refuse an empty value: to the kernel an empty
// word means "the default", which is not what someone who types '' has asked for.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tally {

// CLI11 splits a word in brackets into a list where several words may stand, and "[a]" is the name
// of another device than "a". So words that begin so are guarded before it sees them, and every
// option takes the guard off. The words come in the order that App::parse() wants.
std::vector<std::string> guarded(int argc, const char* const* argv);
std::string unguarded(std::string word);
CLI::Option* literal(CLI::Option* option);

CLI::Option* add_word(CLI::App& verb, const char* name, std::string& value, const char* about);
CLI::Option*
add_words(CLI::App& verb, const char* name, std::vector<std::string>& values, const char* about);

// [0-9]+ from min to max.
CLI::Option* add_number(CLI::App& verb,
                        const char* name,
                        std::uint64_t& value,
                        const char* about,
                        std::uint64_t min = 0,
                        std::uint64_t max = std::numeric_limits<std::uint64_t>::max());

// The same with K, M, G, T.
CLI::Option* add_size(CLI::App& verb,
                      const char* name,
                      std::uint64_t& value,
                      const char* about,
                      std::uint64_t min = 0,
                      std::uint64_t max = std::numeric_limits<std::uint64_t>::max());

// One such size in what an option takes.
std::uint64_t size_of(const std::string& name, const std::string& text);

CLI::Option* add_json(CLI::App& verb, bool& value);
CLI::Option* add_no_load(CLI::App& verb, bool& value);

} // namespace tally
