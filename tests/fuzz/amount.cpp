// SPDX-License-Identifier: GPL-2.0-or-later
// Amounts and lists of CPUs as tallybench takes them (userspace/lib/measure/amount.cpp, cpus.cpp)
// against the model. The input is the text of one.
#include "model.hpp"
#include "target.hpp"

#include "measure/amount.hpp"
#include "measure/cpus.hpp"
#include "measure/job.hpp"

#include <cmath>
#include <optional>

using namespace fuzz;

namespace {

// What the call returned, or nothing where it refused; the refusal quotes the text.
template <class Call> auto answer(std::string_view text, Call call) {
    std::optional<decltype(call())> result;
    try {
        result = call();
    } catch (const tally::UsageError& refusal) {
        const std::string quoted = '"' + std::string(text) + '"';
        require(std::string_view(refusal.what()).find(quoted.c_str()) != std::string_view::npos,
                "names the text");
    }
    return result;
}

std::optional<std::uint64_t> model_of_count(std::string_view text, std::uint64_t max) {
    const Parsed parsed = number_of(text, max);
    return parsed.ret == 0 ? std::optional(parsed.value) : std::nullopt;
}

std::optional<std::uint64_t> model_of_bytes(std::string_view text) {
    constexpr std::string_view units = "kKmMgG";
    const std::size_t unit = text.empty() ? units.npos : units.find(text.back());
    if (unit == units.npos)
        return model_of_count(text, UINT64_MAX);
    std::uint64_t factor = 1;
    for (std::size_t i = 0; i <= unit / 2; ++i)
        factor *= 1024;
    auto value = model_of_count(text.substr(0, text.size() - 1), UINT64_MAX / factor);
    if (value)
        *value *= factor;
    return value;
}

// Digits with at most one point among them.
std::optional<long double> model_of_decimal(std::string_view text) {
    std::string digits(text);
    const std::size_t point = digits.find('.');
    if (point != digits.npos)
        digits.erase(point, 1);
    if (!is_digits(digits))
        return std::nullopt;
    return std::strtold(std::string(text).c_str(), nullptr);
}

bool ends(std::string_view& text, std::string_view suffix) {
    const bool does = text.ends_with(suffix);
    if (does)
        text.remove_suffix(suffix.size());
    return does;
}

bool near(long double left, long double right, long double slack) {
    return std::fabs(left - right) <= slack + 1e-12L * std::fabs(right);
}

void check_time(std::string_view text, std::string_view digits) {
    const long double unit = ends(digits, "ms") ? 1e6L : ends(digits, "us") ? 1e3L : 1e9L;
    if (unit == 1e9L)
        ends(digits, "s");
    const auto decimal = model_of_decimal(digits);
    const long double wanted = decimal.value_or(0) * unit;
    constexpr long double day = 86400e9L;

    const auto got = answer(text, [&] { return tally::parse_time("time", text); });
    if (got) {
        const long double ns = static_cast<long double>(got->count());
        require(decimal.has_value(), "a time is a number");
        require(near(ns, wanted, 0.501L), "the model's time");
        require(ns >= 1 && ns <= day, "more than nothing, at most a day");
    } else {
        require(!decimal || wanted < 0.501L || wanted > day - 1, "times are taken");
    }
}

void check_fraction(std::string_view text, std::string_view digits) {
    const long double unit = ends(digits, "%") ? 100 : 1;
    const auto decimal = model_of_decimal(digits);
    const long double wanted = decimal.value_or(0) / unit;
    const auto got = answer(text, [&] { return tally::parse_fraction("part", text); });
    if (got) {
        require(decimal.has_value(), "a fraction is a number");
        require(*got > 0 && *got < 1, "between 0 and 1");
        require(near(*got, wanted, 1e-300L), "the model's fraction");
    } else {
        require(!decimal || wanted < 1e-300L || wanted > 1 - 1e-15L, "fractions are taken");
    }
}

std::optional<tally::Cpus> model_of_cpus(std::string_view text) {
    tally::Cpus cpus;
    for (std::string_view part : split(text, ",")) {
        const Strings ends_of = split(part, "-");
        const auto first = model_of_count(ends_of.front(), 8191);
        const auto last = model_of_count(ends_of.back(), 8191);
        if (ends_of.size() > 2 || !first || !last || *last < *first)
            return std::nullopt;
        for (std::uint64_t cpu = *first; cpu <= *last; ++cpu)
            cpus.push_back(static_cast<std::uint32_t>(cpu));
    }
    std::vector<bool> seen(8192);
    cpus.erase(std::remove_if(cpus.begin(),
                              cpus.end(),
                              [&](std::uint32_t cpu) {
                                  const bool before = seen[cpu];
                                  seen[cpu] = true;
                                  return before;
                              }),
               cpus.end());
    return cpus;
}

void check_cpus(std::string_view text) {
    const auto got = answer(text, [&] { return tally::parse_cpus(text); });
    require(got == model_of_cpus(text), "the model's CPUs");
    if (got)
        require(tally::parse_cpus(tally::format_cpus(*got)) == got, "CPUs are read back");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Exact exact(text_of(data, size));
    const std::string_view text(exact.data(), exact.size());

    auto count = model_of_count(text, 4096);
    if (count && *count == 0)
        count.reset();
    require(answer(text, [&] { return tally::parse_count("n", text, 1, 4096); }) == count,
            "the model's count");
    require(answer(text, [&] { return tally::parse_count("n", text, 0, UINT64_MAX); }) ==
                model_of_count(text, UINT64_MAX),
            "the model's large count");
    require(answer(text, [&] { return tally::parse_bytes("b", text); }) == model_of_bytes(text),
            "the model's bytes");
    check_time(text, text);
    check_fraction(text, text);
    check_cpus(text);
    return 0;
}
