// SPDX-License-Identifier: GPL-2.0-or-later
// Memory with nothing behind it: what is placed there ends where a page begins that nobody may
// touch. It is seen twice, so that the kernel can be given a view that is read-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fuzz {

enum class Where : uint8_t {
    Whole,    // up to the guard page
    Partly,   // the last bytes lie in it
    ReadOnly, // may be read, not written
};

struct Placed {
    uint64_t address = 0;      // for the kernel
    std::span<uint8_t> inside; // what of it exists, writable
};

class Arena {
public:
    static constexpr uint8_t FILL = 0xa5;

    explicit Arena(size_t pages);
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    size_t room() const { return room_; }
    // Filled, also the 64 bytes before it; beyond: bytes in the guard page, for Partly.
    Placed place(size_t len, Where where, size_t beyond = 1);
    // Whether those 64 bytes are as they were.
    bool sound(const Placed& placed) const;

private:
    size_t room_;
    uint8_t* rw_;
    uint8_t* ro_;
};

} // namespace fuzz
