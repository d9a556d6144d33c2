// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"

#include "blktally/number.hpp"

#include <algorithm>
#include <stdexcept>

namespace tally {

namespace {

const CLI::Validator not_empty([](std::string& text) { return text.empty() ? "is empty" : ""; },
                               "");

constexpr char guard = '\n';

using Parse = std::uint64_t (*)(std::string_view, std::uint64_t);

// What cannot be parsed is an error of usage.
std::uint64_t
parsed(const std::string& name, const std::string& text, std::uint64_t max, Parse parse) {
    try {
        return parse(text, max);
    } catch (const std::invalid_argument& e) {
        throw CLI::ValidationError(name, e.what());
    }
}

CLI::Option* add_parsed(CLI::App& verb,
                        const char* name,
                        std::uint64_t& value,
                        const char* about,
                        std::uint64_t min,
                        std::uint64_t max,
                        Parse parse,
                        const char* type) {
    auto store = [&value, name, min, max, parse](const std::string& text) {
        value = parsed(name, text, max, parse);
        if (value < min)
            throw CLI::ValidationError(name,
                                       "\"" + text + "\" is less than " + std::to_string(min));
    };
    return literal(verb.add_option_function<std::string>(name, store, about))->type_name(type);
}

} // namespace

std::vector<std::string> guarded(int argc, const char* const* argv) {
    std::vector<std::string> words(argv + (argc > 0), argv + argc);
    for (std::string& word : words)
        if (word.starts_with('['))
            word += guard;
    std::reverse(words.begin(), words.end());
    return words;
}

std::string unguarded(std::string word) {
    if (word.starts_with('[') && word.ends_with(guard))
        word.pop_back();
    return word;
}

CLI::Option* literal(CLI::Option* option) {
    return option->transform(unguarded);
}

CLI::Option* add_word(CLI::App& verb, const char* name, std::string& value, const char* about) {
    return literal(verb.add_option(name, value, about))->check(not_empty)->type_name("");
}

CLI::Option*
add_words(CLI::App& verb, const char* name, std::vector<std::string>& values, const char* about) {
    return literal(verb.add_option(name, values, about))->check(not_empty)->type_name("");
}

CLI::Option* add_number(CLI::App& verb,
                        const char* name,
                        std::uint64_t& value,
                        const char* about,
                        std::uint64_t min,
                        std::uint64_t max) {
    return add_parsed(verb, name, value, about, min, max, parse_number, "N");
}

CLI::Option* add_size(CLI::App& verb,
                      const char* name,
                      std::uint64_t& value,
                      const char* about,
                      std::uint64_t min,
                      std::uint64_t max) {
    return add_parsed(verb, name, value, about, min, max, parse_size, "SIZE");
}

std::uint64_t size_of(const std::string& name, const std::string& text) {
    return parsed(name, text, std::numeric_limits<std::uint64_t>::max(), parse_size);
}

CLI::Option* add_json(CLI::App& verb, bool& value) {
    return verb.add_flag("--json", value, "Print one JSON document");
}

CLI::Option* add_no_load(CLI::App& verb, bool& value) {
    return verb.add_flag("--no-load", value, "Do not load missing modules");
}

} // namespace tally
