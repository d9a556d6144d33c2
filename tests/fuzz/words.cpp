// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel's parser of words and numbers (kmod/core/words.c) against the model. The input is text.
#include "model.hpp"
#include "target.hpp"

extern "C" {
#include "words.h"
}

using namespace fuzz;

namespace {

constexpr unsigned untouched = 77;

Parsed model_of_device(std::string_view text, unsigned& major, unsigned& minor) {
    const std::size_t colon = text.find(':');
    if (colon == text.npos)
        return {-EINVAL, 0};
    const Parsed first = number_of(text.substr(0, colon), 4095);
    const Parsed second = number_of(text.substr(colon + 1), 1048575);
    for (int error : {-EINVAL, -ERANGE}) // junk before size, in either half
        if (first.ret == error || second.ret == error)
            return {error, 0};
    major = static_cast<unsigned>(first.value);
    minor = static_cast<unsigned>(second.value);
    return {0, 0};
}

void check_word(const tally_word& word) {
    const std::string_view text(word.at, word.len);

    u64 wide = untouched;
    int ret = tally_word_u64(&word, &wide);
    require(Parsed{ret, wide} == number_of(text, UINT64_MAX, untouched), "u64 as the model");

    u32 narrow = untouched;
    ret = tally_word_u32(&word, &narrow);
    require(Parsed{ret, narrow} == number_of(text, UINT32_MAX, untouched), "u32 as the model");

    u32 major = untouched, minor = untouched;
    unsigned model_major = untouched, model_minor = untouched;
    ret = tally_word_dev(&word, &major, &minor);
    require(ret == model_of_device(text, model_major, model_minor).ret, "dev as the model");
    require(major == model_major && minor == model_minor, "device numbers as the model");

    const std::string terminated(text); // what strlen() sees of it ends at a NUL
    require(tally_word_is(&word, terminated.c_str()) == (text.find('\0') == text.npos),
            "a word is itself");
    require(tally_word_is(&word, "linear") == (text == "linear"), "a word is linear");
    require(!tally_word_is(&word, (terminated + "x").c_str()) || text.find('\0') != text.npos,
            "a word is not a longer one");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input = text_of(data, size);
    const Exact exact(input);
    tally_words text{exact.data(), exact.data() + exact.size()};
    tally_words line{nullptr, nullptr};

    for (const Line& expected : lines_of(input)) {
        require(tally_next_line(&text, &line), "a line is there");
        tally_word word{nullptr, 0};
        for (std::string_view wanted : expected.words) {
            require(tally_next_word(&line, &word), "a word is there");
            require(std::string_view(word.at, word.len) == wanted, "the word is the model's");
            require(word.at >= exact.data() && line.at <= line.end && text.at <= text.end,
                    "cursors stay inside the text");
            check_word(word);
            const Exact alone(wanted);
            check_word({alone.data(), word.len});
        }
        require(!tally_next_word(&line, &word), "no word behind the last");
    }
    require(!tally_next_line(&text, &line), "no line behind the last");

    const Exact whole(input); // also what no line would hand over: blanks, newlines, nothing
    check_word({whole.data(), static_cast<unsigned>(whole.size())});
    return 0;
}
