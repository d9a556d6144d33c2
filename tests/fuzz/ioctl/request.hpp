// SPDX-License-Identifier: GPL-2.0-or-later
// One call in the making: the structure's bytes, and where it and what it points to are to lie.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "arena.hpp"
#include "blktally/fd.hpp"
#include "commands.hpp"
#include "model.hpp"
#include "random.hpp"

namespace fuzz {

class Counts;

struct World {
    Model& model;
    Counts& counts;
    int control;                 // fd of the control node
    int character;               // fd of something that is no block device
    std::optional<Disk> foreign; // a block device that is not ours
};

// A piece of memory that the structure tells the address of.
struct Slot {
    size_t len = 0;
    Where where = Where::Whole;
    size_t beyond = 1;
    std::optional<uint64_t> address; // this instead, where nothing of ours lies
};

struct Request {
    const Command* command;
    unsigned request;           // the ioctl's number
    std::vector<uint8_t> bytes; // head and all
    Slot self, reason, out, text, cpus, threads;
    std::string table; // for text
    bool pure = true;  // valid as far as the model knows
    bool unprivileged = false;
    bool raced = false;
    std::vector<tally::Fd> keep; // open while the call runs

    template <typename T> T& as() { return *reinterpret_cast<T*>(bytes.data()); }
    template <typename T> T get(size_t at) const {
        T value;
        std::memcpy(&value, bytes.data() + at, sizeof(value));
        return value;
    }
    template <typename T> void set(size_t at, T value) {
        std::memcpy(bytes.data() + at, &value, sizeof(value));
    }
    tally_head& head() { return as<tally_head>(); }
    tally_ref& ref() { return *reinterpret_cast<tally_ref*>(bytes.data() + REF); }
    void resize(size_t size) {
        bytes.resize(size);
        head().size = static_cast<uint32_t>(size);
    }
};

void put_text(char* field, size_t size, const std::string& text);
std::string line(uint64_t start, uint64_t length, const std::string& device, uint64_t offset);

Request valid_request(const Command& c, const World& world, Random& random);

// The bounds of what may be asked: nothing that takes seconds or gigabytes, however it came about.
void tame(Request& rq);

} // namespace fuzz
