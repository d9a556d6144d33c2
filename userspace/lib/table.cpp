// SPDX-License-Identifier: GPL-2.0-or-later
#include "blktally/table.hpp"

#include "blktally/error.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

#include <blktally.h>
#include <unistd.h>

extern "C" {
#include "words.h"
}

namespace tally {

namespace {

// Walks the words of a text, and knows for each where it stands.
class Reader {
public:
    explicit Reader(std::string_view text)
        : text_{text.data(), text.data() + text.size()}, seen_(text.data()) {}

    bool next_line() {
        if (!tally_next_line(&text_, &line_))
            return false;
        line_number_ += std::count(seen_, line_.at, '\n');
        seen_ = line_.at;
        word_number_ = 0;
        return true;
    }

    std::optional<std::string_view> next_word() {
        ++word_number_;
        if (!tally_next_word(&line_, &word_))
            return std::nullopt;
        return std::string_view(word_.at, word_.len);
    }

    std::size_t word_number() const { return word_number_; }

    std::string_view word(const char* what) {
        auto word = next_word();
        if (!word)
            fail(EINVAL, std::string(what) + " is missing");
        return *word;
    }

    std::uint64_t number(const char* what) {
        std::string_view text = word(what);
        std::uint64_t value = 0;
        int ret = tally_word_u64(&word_, &value);
        if (ret == -ERANGE)
            fail(EINVAL, std::string(what) + " \"" + std::string(text) + "\" is too large");
        if (ret != 0)
            fail(EINVAL, std::string(what) + " \"" + std::string(text) + "\" is not a number");
        return value;
    }

    [[noreturn]] void fail(int error, const std::string& why) const {
        std::string where = "table line " + std::to_string(line_number_);
        if (word_number_ != 0)
            where += ", word " + std::to_string(word_number_);
        throw Error(error, where + ": " + why);
    }

private:
    tally_words text_;
    tally_words line_{nullptr, nullptr};
    tally_word word_{nullptr, 0};
    const char* seen_; // up to here newlines are counted
    std::size_t line_number_ = 1, word_number_ = 0;
};

[[noreturn]] void too_long(std::size_t limit) {
    throw Error(E2BIG, "table is longer than " + std::to_string(limit) + " bytes");
}

} // namespace

std::size_t table_limit() noexcept { return TALLY_TABLE_MAX; }

std::string read_table(int fd, std::size_t limit) {
    std::string text;
    for (;;) {
        const std::size_t used = text.size();
        const std::size_t room = std::min(std::max<std::size_t>(used, 4096), limit + 1 - used);
        text.resize(used + room);
        const ssize_t got = read(fd, text.data() + used, room);
        const int error = errno;
        text.resize(used + (got > 0 ? static_cast<std::size_t>(got) : 0));
        if (got < 0 && error != EINTR)
            throw errno_error(error, "cannot read the table");
        if (got == 0)
            return text;
        if (text.size() > limit)
            too_long(limit);
    }
}

bool table_is_empty(std::string_view text) { return !Reader(text).next_line(); }

std::vector<Segment> parse_table(std::string_view text) {
    std::vector<Segment> segments;
    std::uint64_t end = 0;
    Reader reader(text);
    while (reader.next_line()) {
        if (segments.size() == TALLY_SEGMENTS_MAX)
            reader.fail(E2BIG, "more than " + std::to_string(TALLY_SEGMENTS_MAX) + " segments");
        Segment segment;
        segment.start = reader.number("start");
        if (segment.start != end)
            reader.fail(EINVAL,
                        "start " + std::to_string(segment.start) + " leaves a " +
                            (segment.start > end ? "gap" : "overlap") +
                            ": the next free sector is " + std::to_string(end));
        segment.length = reader.number("length");
        if (segment.length == 0)
            reader.fail(EINVAL, "length is 0");
        if (__builtin_add_overflow(end, segment.length, &end))
            reader.fail(EINVAL, "length " + std::to_string(segment.length) + " wraps around");
        segment.target = reader.word("target");
        while (auto word = reader.next_word()) {
            if (!segment.args.empty())
                segment.args += ' ';
            segment.args += *word;
        }
        segments.push_back(std::move(segment));
    }
    return segments;
}

std::string resolve_table(std::string_view text, const Resolve& resolve) {
    std::string resolved;
    const char* copied = text.data();
    Reader reader(text);
    while (reader.next_line())
        while (auto word = reader.next_word()) {
            if (reader.word_number() <= 3 || word->front() != '/')
                continue;
            if (word->find('\0') != word->npos)
                reader.fail(EINVAL, "a NUL byte in a path");
            DeviceNumber number;
            try {
                number = resolve(std::string(*word));
            } catch (const std::system_error& e) {
                reader.fail(e.code().value(), e.what());
            }
            resolved.append(copied, word->data());
            resolved += std::to_string(number.major) + ':' + std::to_string(number.minor);
            copied = word->data() + word->size();
        }
    resolved.append(copied, text.data() + text.size());
    if (resolved.size() > table_limit())
        too_long(table_limit());
    return resolved;
}

} // namespace tally
