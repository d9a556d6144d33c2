// SPDX-License-Identifier: GPL-2.0-or-later
#include "pattern.hpp"

#include <algorithm>

#include "measure/random.hpp"

namespace tally::torture {
namespace {

constexpr std::uint64_t magic = 0x7a11'70c7'0000'0000;
constexpr std::uint64_t stride = 0x9e37'79b9'7f4a'7c15;
constexpr std::size_t header = 3; // words that say it in plain

std::uint64_t key_of(const Stamp& stamp) noexcept {
    return Random(stamp.job * 0xd6e8'feb8'6659'fd93 ^ stamp.sector * 0xa076'1d64'78bd'642f ^
                  stamp.generation * stride)
        .next();
}

std::string words_of(const Stamp& stamp) {
    return "sector " + std::to_string(stamp.sector) + " of job " + std::to_string(stamp.job) +
           ", generation " + std::to_string(stamp.generation);
}

bool all_zero(const std::uint64_t* sector) noexcept {
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < sector_words; ++i)
        any |= sector[i];
    return any == 0;
}

} // namespace

void fill(std::uint64_t* sector, const Stamp& stamp) noexcept {
    std::uint64_t word = key_of(stamp);
    sector[0] = magic | stamp.job;
    sector[1] = stamp.sector;
    sector[2] = stamp.generation;
    for (std::size_t i = header; i < sector_words; ++i)
        sector[i] = word += stride;
}

bool matches(const std::uint64_t* sector, const Stamp& stamp) noexcept {
    if (stamp.generation == 0)
        return all_zero(sector);
    std::uint64_t word = key_of(stamp);
    std::uint64_t wrong = (sector[0] ^ (magic | stamp.job)) | (sector[1] ^ stamp.sector) |
                          (sector[2] ^ stamp.generation);
    for (std::size_t i = header; i < sector_words; ++i)
        wrong |= sector[i] ^ (word += stride);
    return wrong == 0;
}

void poison(std::uint64_t* sector) noexcept {
    sector[0] = sector[sector_words / 2] = sector[sector_words - 1] = ~magic;
}

std::string difference(const std::uint64_t* sector, const Stamp& wanted) {
    const std::string want =
        "wanted " + (wanted.generation != 0 ? words_of(wanted) : std::string("zeroes"));
    if (all_zero(sector))
        return want + ", got zeroes";
    if ((sector[0] >> 32) != (magic >> 32)) {
        const auto* end = sector + sector_words;
        const auto* first = std::find_if(sector, end, [](auto word) { return word != 0; });
        return want + ", got no pattern of ours; first word that is not zero: number " +
               std::to_string(first - sector);
    }
    const Stamp found{sector[0] & 0xffff'ffff, sector[1], sector[2]};
    if (found.generation != 0 && matches(sector, found))
        return want + ", got " + words_of(found);
    std::uint64_t whole[sector_words];
    fill(whole, found);
    const auto torn = std::mismatch(sector, sector + sector_words, whole).first - sector;
    return want + ", got a torn " + words_of(found) + ": word " + std::to_string(torn);
}

} // namespace tally::torture
