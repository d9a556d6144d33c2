// SPDX-License-Identifier: GPL-2.0-or-later
// The parser that kernel and tool share. Every text lies in a heap block of exactly its length, so
// that AddressSanitizer sees a read beyond either end.
#include "catch.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
#include "words.h"
}

namespace {

using namespace std::string_literals;

class Exact {
public:
    explicit Exact(std::string_view text) : bytes_(new char[text.size()]), size_(text.size()) {
        if (size_ != 0)
            std::memcpy(bytes_.get(), text.data(), size_);
    }
    tally_words words() const { return {bytes_.get(), bytes_.get() + size_}; }
    tally_word word() const { return {bytes_.get(), static_cast<unsigned>(size_)}; }

private:
    std::unique_ptr<char[]> bytes_;
    std::size_t size_;
};

std::vector<std::vector<std::string>> split(std::string_view text) {
    Exact exact(text);
    tally_words rest = exact.words();
    tally_words line;
    std::vector<std::vector<std::string>> lines;
    while (tally_next_line(&rest, &line)) {
        lines.emplace_back();
        tally_word word;
        while (tally_next_word(&line, &word))
            lines.back().emplace_back(word.at, word.len);
    }
    return lines;
}

using Lines = std::vector<std::vector<std::string>>;

constexpr std::uint64_t untouched = 77;

// The value, or the negative errno, with the promise that a refusal leaves the value alone.
struct Parsed {
    int ret;
    std::uint64_t value;
    bool operator==(const Parsed&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Parsed& parsed) {
    return out << parsed.ret << '/' << parsed.value;
}

Parsed u64_of(std::string_view text) {
    Exact exact(text);
    tally_word word = exact.word();
    u64 value = untouched;
    int ret = tally_word_u64(&word, &value);
    return {ret, value};
}

Parsed u32_of(std::string_view text) {
    Exact exact(text);
    tally_word word = exact.word();
    u32 value = untouched;
    int ret = tally_word_u32(&word, &value);
    return {ret, value};
}

struct Dev {
    int ret;
    u32 major, minor;
    bool operator==(const Dev&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Dev& dev) {
    return out << dev.ret << '/' << dev.major << ':' << dev.minor;
}

Dev dev_of(std::string_view text) {
    Exact exact(text);
    tally_word word = exact.word();
    Dev dev{0, 77, 77};
    dev.ret = tally_word_dev(&word, &dev.major, &dev.minor);
    return dev;
}

const Parsed junk{-EINVAL, untouched};
const Parsed range{-ERANGE, untouched};
const Dev dev_junk{-EINVAL, 77, 77};
const Dev dev_range{-ERANGE, 77, 77};

} // namespace

TEST_CASE("no text has no line") {
    tally_words text{nullptr, nullptr};
    tally_words line;
    CHECK_FALSE(tally_next_line(&text, &line));
    CHECK(split("").empty());
    CHECK(split("\n").empty());
    CHECK(split("\n\n\n").empty());
    CHECK(split(" \t\r\n\r\n \t").empty());
    CHECK(split("# only a comment").empty());
    CHECK(split("  \t# indented\n#\n#x").empty());
}

TEST_CASE("lines end at newline or at the end of the text") {
    CHECK(split("0 1 linear 8:0 0") == Lines{{"0", "1", "linear", "8:0", "0"}});
    CHECK(split("a\nb") == Lines{{"a"}, {"b"}});
    CHECK(split("a\nb\n") == Lines{{"a"}, {"b"}});
    CHECK(split("\n\na\n\n#c\n b\n\n") == Lines{{"a"}, {"b"}});
    CHECK(split("a #b") == Lines{{"a", "#b"}});
}

TEST_CASE("blanks are space, tab and carriage return") {
    CHECK(split("a  b\t\tc \t d  ") == Lines{{"a", "b", "c", "d"}});
    CHECK(split("a b\r\nc\r\n\r\n") == Lines{{"a", "b"}, {"c"}});
    CHECK(split("a\rb") == Lines{{"a", "b"}});
    CHECK(split("a\vb\fc") == Lines{{"a\vb\fc"}});
    CHECK(split("a\xa0z") == Lines{{"a\xa0z"}});
}

TEST_CASE("NUL is an ordinary byte") {
    CHECK(split("a\0b c"s) == Lines{{"a\0b"s, "c"}});
    CHECK(split("\0"s) == Lines{{"\0"s}});
    CHECK(u64_of("1\0"s) == junk);
    CHECK(dev_of("8:0\0"s) == dev_junk);
    Exact exact("linear\0"s);
    tally_word word = exact.word();
    CHECK_FALSE(tally_word_is(&word, "linear"));
}

TEST_CASE("word_is compares the whole word") {
    Exact exact("linear");
    tally_word word = exact.word();
    CHECK(tally_word_is(&word, "linear"));
    CHECK_FALSE(tally_word_is(&word, "linea"));
    CHECK_FALSE(tally_word_is(&word, "linear2"));
    CHECK_FALSE(tally_word_is(&word, "Linear"));
    CHECK_FALSE(tally_word_is(&word, ""));
}

TEST_CASE("u64") {
    CHECK(u64_of("0") == Parsed{0, 0});
    CHECK(u64_of("42") == Parsed{0, 42});
    CHECK(u64_of("00000000000000000000000000000042") == Parsed{0, 42});
    CHECK(u64_of("18446744073709551615") == Parsed{0, UINT64_MAX});
    CHECK(u64_of("18446744073709551616") == range);
    CHECK(u64_of("18446744073709551620") == range);
    CHECK(u64_of("184467440737095516150") == range);
    CHECK(u64_of("99999999999999999999999999") == range);
    // an overflow in the middle must not be forgotten by what follows
    CHECK(u64_of("184467440737095516170000") == range);
    for (auto text : {"",
                      "+1",
                      "-1",
                      "0x10",
                      "1bla",
                      "bla",
                      " 1",
                      "1 ",
                      "1.0",
                      "1e3",
                      "1k",
                      "1:0",
                      "/",
                      ":",
                      "99999999999999999999x",
                      "\xff",
                      "\xb1"})
        CHECK(u64_of(text) == junk);
}

TEST_CASE("u32") {
    CHECK(u32_of("4294967295") == Parsed{0, UINT32_MAX});
    CHECK(u32_of("4294967296") == range);
    CHECK(u32_of("18446744073709551616") == range);
    CHECK(u32_of("0000000004294967295") == Parsed{0, UINT32_MAX});
    CHECK(u32_of("1bla") == junk);
    CHECK(u32_of("") == junk);
    CHECK(u32_of("-1") == junk);
}

TEST_CASE("device numbers") {
    CHECK(dev_of("8:0") == Dev{0, 8, 0});
    CHECK(dev_of("008:00016") == Dev{0, 8, 16});
    CHECK(dev_of("4095:1048575") == Dev{0, 4095, 1048575});
    CHECK(dev_of("4096:0") == dev_range);
    CHECK(dev_of("0:1048576") == dev_range);
    CHECK(dev_of("18446744073709551616:0") == dev_range);
    for (auto text : {"",
                      ":",
                      "8:",
                      ":0",
                      "8",
                      "8:0:0",
                      "8:0bla",
                      "8bla:0",
                      "+8:0",
                      "8:-1",
                      "0x8:0",
                      "8 :0",
                      "/dev/sda",
                      "8::0",
                      "9999:x",
                      "x:9999999"})
        CHECK(dev_of(text) == dev_junk);
}

TEST_CASE("every cut of a line stays inside its bytes") {
    const std::string line =
        "  0 2097152\tlinear 8:0 2048 \r\n# c\r\n5 5 striped 2 128 8:0 0 8:16 0";
    for (std::size_t length = 0; length <= line.size(); ++length)
        for (auto& words : split(std::string_view(line).substr(0, length)))
            for (auto& word : words) {
                u64_of(word);
                u32_of(word);
                dev_of(word);
                CHECK(!word.empty());
            }
}
