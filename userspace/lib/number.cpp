// SPDX-License-Identifier: GPL-2.0-or-later
#include "blktally/number.hpp"

#include <cerrno>
#include <stdexcept>
#include <string>

extern "C" {
#include "words.h"
}

namespace tally {

namespace {

[[noreturn]] void too_large(std::string_view text, std::uint64_t max) {
    throw std::invalid_argument("\"" + std::string(text) + "\" is more than " +
                                std::to_string(max));
}

std::uint64_t
digits(std::string_view text, std::string_view whole, std::uint64_t max, const char* kind) {
    tally_word word{text.data(), static_cast<unsigned>(text.size())};
    std::uint64_t value = 0;
    switch (tally_word_u64(&word, &value)) {
    case 0:
        return value;
    case -ERANGE:
        too_large(whole, max);
    default:
        throw std::invalid_argument("\"" + std::string(whole) + "\" is not a " + kind);
    }
}

unsigned shift_of(char suffix) {
    switch (suffix | 0x20) {
    case 'k':
        return 10;
    case 'm':
        return 20;
    case 'g':
        return 30;
    case 't':
        return 40;
    default:
        return 0;
    }
}

} // namespace

std::uint64_t parse_number(std::string_view text, std::uint64_t max) {
    std::uint64_t value = digits(text, text, max, "number");
    if (value > max)
        too_large(text, max);
    return value;
}

std::uint64_t parse_size(std::string_view text, std::uint64_t max) {
    unsigned shift = text.empty() ? 0 : shift_of(text.back());
    std::string_view number = text.substr(0, text.size() - (shift != 0));
    std::uint64_t value = digits(number, text, max, "size (digits, then K, M, G, T or nothing)");
    if (value > (max >> shift))
        too_large(text, max);
    return value << shift;
}

} // namespace tally
