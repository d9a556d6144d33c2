// SPDX-License-Identifier: GPL-2.0-or-later
#include "arena.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/mman.h>
#include <unistd.h>

#include "blktally/fd.hpp"

namespace fuzz {

namespace {

constexpr size_t PAGE = 4096;
constexpr size_t MARGIN = 64;

// One view of the file, a guard page behind it.
uint8_t* view(int fd, size_t room, int protection) {
    void* at = ::mmap(nullptr, room + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED ||
        ::mmap(at, room, protection, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(), "mmap");
    return static_cast<uint8_t*>(at);
}

} // namespace

Arena::Arena(size_t pages) : room_(pages * PAGE) {
    const tally::Fd fd(::memfd_create("tally-ioctl-fuzz", MFD_CLOEXEC));
    if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(room_)))
        throw std::system_error(errno, std::generic_category(), "memfd");
    rw_ = view(fd.get(), room_, PROT_READ | PROT_WRITE);
    ro_ = view(fd.get(), room_, PROT_READ);
}

Placed Arena::place(size_t len, Where where, size_t beyond) {
    len = std::min(len, room_ - MARGIN);
    beyond = where == Where::Partly ? std::min(beyond, len) : 0;
    const size_t start = room_ - len + beyond;
    std::memset(rw_ + start - MARGIN, FILL, room_ - start + MARGIN);
    uint8_t* seen = where == Where::ReadOnly ? ro_ : rw_;
    return {reinterpret_cast<uint64_t>(seen + start), {rw_ + start, room_ - start}};
}

bool Arena::sound(const Placed& placed) const {
    const uint8_t* start = placed.inside.data();
    return std::all_of(start - MARGIN, start, [](uint8_t byte) { return byte == FILL; });
}

} // namespace fuzz
