// SPDX-License-Identifier: GPL-2.0-or-later
// The tools' parser of tables (userspace/lib/table.cpp): against the model, and through a round
// trip. The input is the text of a table. Paths are looked up in a world where one with an X in it
// is missing, and the others have the numbers LENGTH:LAST BYTE.
#include "model.hpp"
#include "target.hpp"

#include "blktally/error.hpp"
#include "blktally/table.hpp"

#include <optional>

using namespace fuzz;

namespace {

constexpr std::string_view missing = "no such path here";

struct Refusal {
    int error = 0;
    std::string where{}; // how its sentence begins
};

Refusal at(const Line& line, std::size_t word, int error = EINVAL) {
    return {error,
            "table line " + std::to_string(line.number) + ", word " + std::to_string(word) + ": "};
}

std::optional<Refusal> model(std::string_view text, std::vector<tally::Segment>& segments) {
    std::uint64_t free = 0;
    for (const Line& line : lines_of(text)) {
        Parsed numbers[2];
        for (std::size_t i = 0; i < 2; ++i) {
            if (line.words.size() > i)
                numbers[i] = number_of(line.words[i], UINT64_MAX);
            if (line.words.size() <= i || numbers[i].ret != 0 ||
                (i == 0 ? numbers[0].value != free
                        : numbers[1].value == 0 || numbers[1].value > UINT64_MAX - free))
                return at(line, i + 1);
        }
        if (line.words.size() < 3)
            return at(line, 3);
        tally::Segment segment{
            numbers[0].value, numbers[1].value, std::string(line.words[2]), std::string()};
        for (std::size_t i = 3; i < line.words.size(); ++i)
            segment.args += (i > 3 ? " " : "") + std::string(line.words[i]);
        free += segment.length;
        segments.push_back(segment);
    }
    return std::nullopt;
}

// The call's refusal; any other exception is a failure of the input.
template <class Call> std::optional<Refusal> refusal_of(Call call) {
    try {
        call();
    } catch (const tally::Error& error) {
        return Refusal{error.code().value(), error.what()};
    }
    return std::nullopt;
}

void require_same(const std::optional<Refusal>& got, const std::optional<Refusal>& wanted) {
    require(got.has_value() == wanted.has_value(), "refused as the model refuses");
    if (!got)
        return;
    require(got->error == wanted->error, "the model's errno");
    require(got->where.starts_with(wanted->where), "names the model's line and word");
    require(got->where.size() > wanted->where.size(), "says why");
}

bool same(const std::vector<tally::Segment>& left, const std::vector<tally::Segment>& right) {
    return std::equal(
        left.begin(), left.end(), right.begin(), right.end(), [](const auto& a, const auto& b) {
            return a.start == b.start && a.length == b.length && a.target == b.target &&
                   a.args == b.args;
        });
}

void check_parse(std::string_view text) {
    std::vector<tally::Segment> wanted, got, again;
    const auto refused = refusal_of([&] { got = tally::parse_table(text); });
    require_same(refused, model(text, wanted));
    if (refused)
        return;
    require(same(got, wanted), "segments are the model's");

    std::string written;
    for (const tally::Segment& segment : got)
        written += std::to_string(segment.start) + ' ' + std::to_string(segment.length) + ' ' +
                   segment.target + (segment.args.empty() ? "" : " ") + segment.args + '\n';
    again = tally::parse_table(written);
    require(same(got, again), "what was written is read back");
}

tally::DeviceNumber look_up(const std::string& path) {
    if (path.find('X') != path.npos)
        throw tally::Error(ENOENT, std::string(missing));
    return {static_cast<std::uint32_t>(path.size()), static_cast<unsigned char>(path.back())};
}

std::optional<Refusal> model_of_resolve(std::string_view text, std::string& resolved) {
    const char* copied = text.data();
    for (const Line& line : lines_of(text))
        for (std::size_t i = 3; i < line.words.size(); ++i) {
            const std::string_view word = line.words[i];
            if (word.front() != '/')
                continue;
            if (word.find('\0') != word.npos)
                return at(line, i + 1);
            if (word.find('X') != word.npos)
                return at(line, i + 1, ENOENT);
            resolved.append(copied, word.data());
            resolved += std::to_string(word.size()) + ':' +
                        std::to_string(static_cast<unsigned char>(word.back()));
            copied = word.data() + word.size();
        }
    resolved.append(copied, text.data() + text.size());
    return std::nullopt;
}

void check_resolve(std::string_view text) {
    std::string got, wanted;
    const auto refused = refusal_of([&] { got = tally::resolve_table(text, look_up); });
    const auto expected = model_of_resolve(text, wanted);
    require_same(refused, expected);
    if (refused) {
        require(refused->error != ENOENT || refused->where.ends_with(missing),
                "passes the reason on");
        return;
    }
    require(got == wanted, "all bytes but those of paths stay");
    require(tally::resolve_table(got, look_up) == got, "no path is left");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Exact exact(text_of(data, size));
    const std::string_view text(exact.data(), exact.size());
    require(tally::table_is_empty(text) == lines_of(text).empty(), "empty as the model");
    check_parse(text);
    check_resolve(text);
    return 0;
}
