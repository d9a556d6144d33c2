// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/amount.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "measure/job.hpp"

namespace tally {
namespace {

template <typename Number> std::optional<Number> parse_all(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

// A number without sign and exponent, so that "-1", "inf" and "1e9" are not taken.
std::optional<double> parse_decimal(std::string_view text) {
    if (text.empty() || text.find_first_not_of("0123456789.") != text.npos)
        return std::nullopt;
    return parse_all<double>(text);
}

bool strip(std::string_view &text, std::string_view suffix) {
    if (!text.ends_with(suffix))
        return false;
    text.remove_suffix(suffix.size());
    return true;
}

} // namespace

std::uint64_t
parse_count(std::string_view what, std::string_view text, std::uint64_t low, std::uint64_t high) {
    const auto value = parse_all<std::uint64_t>(text);
    if (!value || *value < low || *value > high)
        throw UsageError(
            fmt::format("{} \"{}\": must be a number, {} to {}", what, text, low, high));
    return *value;
}

std::uint64_t parse_bytes(std::string_view what, std::string_view text) {
    std::string_view digits = text;
    unsigned shift = 0;
    constexpr std::string_view units = "KMG";
    if (!digits.empty()) {
        const char last =
            digits.back() >= 'a' ? static_cast<char>(digits.back() - 'a' + 'A') : digits.back();
        if (const std::size_t unit = units.find(last); unit != units.npos) {
            shift = 10 * (static_cast<unsigned>(unit) + 1);
            digits.remove_suffix(1);
        }
    }
    const auto value = parse_all<std::uint64_t>(digits);
    if (!value || *value > (std::numeric_limits<std::uint64_t>::max() >> shift))
        throw UsageError(fmt::format(
            "{} \"{}\": must be a number of bytes, with K, M or G for powers of 1024", what, text));
    return *value << shift;
}

std::chrono::nanoseconds parse_time(std::string_view what, std::string_view text) {
    constexpr double day = 86400e9;
    std::string_view digits = text;
    double unit = 1e9;
    if (strip(digits, "ms"))
        unit = 1e6;
    else if (strip(digits, "us"))
        unit = 1e3;
    else
        strip(digits, "s");
    const auto value = parse_decimal(digits);
    const double ns = value ? std::round(*value * unit) : 0.0;
    if (ns < 1.0 || ns > day)
        throw UsageError(fmt::format(
            "{} \"{}\": must be more than 0 and at most a day, in seconds, or with ms or us",
            what,
            text));
    return std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
}

double parse_fraction(std::string_view what, std::string_view text) {
    std::string_view digits = text;
    const double unit = strip(digits, "%") ? 100.0 : 1.0;
    const auto value = parse_decimal(digits);
    if (!value || *value <= 0.0 || *value >= unit)
        throw UsageError(
            fmt::format("{} \"{}\": must be between 0 and 1, or 0% and 100%", what, text));
    return *value / unit;
}

} // namespace tally
