// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers and sizes as tallyctl takes them (userspace/lib/number.cpp) against the model. The input
// is the text of a number; behind a newline, the largest that is allowed.
#include "model.hpp"
#include "target.hpp"

#include "blktally/number.hpp"

#include <stdexcept>

using namespace fuzz;

namespace {

using Parse = std::uint64_t (*)(std::string_view, std::uint64_t);

// Digits in front of 10 × shift zero bits, compared before they are shifted.
Parsed model_of_size(std::string_view text, std::uint64_t max) {
    constexpr std::string_view units = "kKmMgGtT";
    const std::size_t unit = text.empty() ? units.npos : units.find(text.back());
    if (unit == units.npos)
        return number_of(text, max);
    std::uint64_t factor = 1;
    for (std::size_t i = 0; i <= unit / 2; ++i)
        factor *= 1024;
    Parsed parsed = number_of(text.substr(0, text.size() - 1), max / factor);
    parsed.value *= factor;
    return parsed;
}

void check(Parse parse, std::string_view text, std::uint64_t max, const Parsed& wanted) {
    const Exact exact(text);
    const std::string quoted = '"' + std::string(text) + '"';
    try {
        const std::uint64_t value = parse({exact.data(), exact.size()}, max);
        require(wanted == Parsed{0, value}, "the model's value");
    } catch (const std::invalid_argument& refusal) {
        const std::string why = refusal.what();
        require(wanted.ret != 0, "taken as the model takes it");
        // what() ends where a NUL in the text is
        if (quoted.find('\0') != quoted.npos)
            return;
        require(why.starts_with(quoted), "names the text");
        if (wanted.ret == -ERANGE)
            require(why == quoted + " is more than " + std::to_string(max), "names the limit");
        else
            require(why.starts_with(quoted + " is not a "), "says that it is none");
    }
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input = text_of(data, size);
    const std::size_t newline = std::min(input.find('\n'), input.size());
    const std::string_view text = input.substr(0, newline);
    const Parsed limit =
        number_of(input.substr(std::min(newline + 1, input.size())), UINT64_MAX, UINT64_MAX);

    for (std::uint64_t max : {limit.value, UINT64_MAX}) {
        check(tally::parse_number, text, max, number_of(text, max));
        check(tally::parse_size, text, max, model_of_size(text, max));
    }
    return 0;
}
