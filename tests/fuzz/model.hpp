// SPDX-License-Identifier: GPL-2.0-or-later
// Lines, words and numbers as words.h describes them, written a second time and the plain way: by
// splitting strings, and by comparing digits instead of computing with them.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

using Strings = std::vector<std::string_view>;

// The pieces between any of `separators`, empty ones too.
inline Strings split(std::string_view text, std::string_view separators) {
    Strings pieces;
    for (;;) {
        const std::size_t length = std::min(text.find_first_of(separators), text.size());
        pieces.push_back(text.substr(0, length));
        if (length == text.size())
            return pieces;
        text.remove_prefix(length + 1);
    }
}

struct Line {
    std::size_t number = 0; // from 1, skipped lines count
    Strings words{};
};

// The lines that say something.
inline std::vector<Line> lines_of(std::string_view text) {
    std::vector<Line> lines;
    std::size_t number = 0;
    for (std::string_view whole : split(text, "\n")) {
        ++number;
        Strings words = split(whole, " \t\r");
        words.erase(std::remove(words.begin(), words.end(), std::string_view()), words.end());
        if (!words.empty() && words.front().front() != '#')
            lines.push_back({number, words});
    }
    return lines;
}

inline bool is_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Of two texts of digits.
inline bool is_more(std::string_view left, std::string_view right) {
    const auto bare = [](std::string_view text) {
        return text.substr(std::min(text.find_first_not_of('0'), text.size()));
    };
    left = bare(left);
    right = bare(right);
    return left.size() != right.size() ? left.size() > right.size() : left > right;
}

// What a parser of numbers returns, and the value that stands there afterwards.
struct Parsed {
    int ret = 0;
    std::uint64_t value = 0;
    bool operator==(const Parsed&) const = default;
};

inline Parsed number_of(std::string_view text, std::uint64_t max, std::uint64_t before = 0) {
    if (!is_digits(text))
        return {-EINVAL, before};
    if (is_more(text, std::to_string(max)))
        return {-ERANGE, before};
    return {0, std::stoull(std::string(text))};
}

} // namespace fuzz
