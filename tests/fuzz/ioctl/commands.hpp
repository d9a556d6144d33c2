// SPDX-License-Identifier: GPL-2.0-or-later
// What the ABI header says of each command: its structure, and the errors that it may return.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "blktally.h"

namespace fuzz {

struct Field {
    uint16_t at;
    uint16_t len;
};

// An error that may be seen, but that is not asked for, and why.
struct Spared {
    int error;
    const char* why;
};

enum class Names : int8_t {
    Nothing = -1,
    Any = TALLY_KIND_ANY,
    Ram = TALLY_KIND_RAM,
    Map = TALLY_KIND_MAP
};

struct Command {
    const char* name;
    unsigned request;
    uint16_t size;
    uint32_t flags; // those that are known
    Names names;    // the kind of disk behind the struct tally_ref, which follows the head
    bool stateless; // a valid request of it always succeeds
    unsigned weight;
    std::vector<uint16_t> pads;      // __u32 that must be zero
    std::vector<Field> strings;      // besides that of the ref
    uint16_t record_size;            // where it is; 0: the command has none
    uint16_t buf;                    // where "buf, buf_len, buf_used" are; 0: none
    std::vector<uint16_t> addresses; // where other addresses are
    std::vector<int> own;            // errors beside those that all commands have
    std::vector<Spared> own_spared;
};

inline constexpr uint16_t REF = sizeof(tally_head);

std::span<const Command> commands();
const Command& command(unsigned request);
size_t index_of(const Command& c);

// Asked for: each must have been seen by the end.
std::vector<int> demanded(const Command& c);
// Asked for, or spared.
bool documented(const Command& c, int error);
std::vector<Spared> spared(const Command& c);
// Documented, and never seen by a caller that lives.
std::span<const Spared> unseen();

// "EINVAL"; "success" for 0.
std::string errno_name(int error);

} // namespace fuzz
