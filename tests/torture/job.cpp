// SPDX-License-Identifier: GPL-2.0-or-later
#include "job.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "blktally/error.hpp"
#include "watch.hpp"

namespace tally::torture {
namespace {

constexpr std::uint64_t small_max = 128;  // sectors: 64 KiB
constexpr std::uint64_t large_min = 512;  // 256 KiB
constexpr std::uint64_t large_max = 2048; // 1 MiB
constexpr std::uint64_t page = 8;         // sectors
constexpr std::size_t slot_bytes = (large_max + page) * sector_bytes;

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

} // namespace

void Job::Release::operator()(void* memory) const noexcept { std::free(memory); }

Job::Job(Report& report, unsigned number, const Extent& own, std::uint64_t seed)
    : report_(report), number_(number), own_(own), random_(seed),
      fd_(Fd::open(own.disk->node(), O_RDWR | O_DIRECT)), generation_(own.count),
      unverified_(own.count),
      memory_(static_cast<std::uint64_t*>(std::aligned_alloc(4096, depth * slot_bytes))) {
    if (!memory_)
        throw std::bad_alloc();
    std::memset(memory_.get(), 0, depth * slot_bytes);
    if (syscall(SYS_io_setup, depth, &aio_) != 0)
        throw errno_error(errno, "io_setup");
    if (own.disk->polled) {
        const int error = io_uring_queue_init(depth, &ring_, IORING_SETUP_IOPOLL);
        if (error < 0)
            throw errno_error(-error, "io_uring_queue_init");
    }
    Rig::expect(*own.disk, depth);
}

Job::~Job() {
    syscall(SYS_io_destroy, aio_);
    if (own_.disk->polled)
        io_uring_queue_exit(&ring_);
}

Stamp Job::stamp(std::uint64_t sector) const noexcept {
    return {number_, own_.first + sector, generation_[sector]};
}

bool Job::unverified(std::uint64_t first, std::uint64_t count) const noexcept {
    const auto begin = unverified_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(count);
    return std::find(begin, end, true) != end;
}

// An I/O that meets none of those before it in the batch; false if there is no place.
bool Job::draw(Io& io, unsigned before) {
    for (int attempt = 0; attempt < 4; ++attempt) {
        const bool large = random_.below(4) == 0;
        io.count = large ? large_min + random_.below(large_max - large_min + 1)
                         : 1 + random_.below(small_max);
        io.first = random_.below(own_.count - io.count + 1);
        if (random_.below(2) == 0) {
            io.count = std::max(io.count / page * page, page);
            io.first = io.first / page * page;
        }
        io.count = std::min(io.count, own_.count - io.first);
        if (std::none_of(ios_, ios_ + before, [&](const Io& other) {
                return io.first < other.first + other.count && other.first < io.first + io.count;
            }))
            return true;
    }
    return false;
}

// Counted devices get what is one bio: a buffer that crosses no more pages than it has.
void Job::batch() {
    const auto wanted = 1 + static_cast<unsigned>(random_.below(depth));
    const bool counted = own_.disk->counted;
    unsigned count = 0;
    for (; count < wanted; ++count) {
        Io& io = ios_[count];
        if (!draw(io, count))
            break;
        const std::uint64_t shift = counted || random_.below(4) != 0 ? 0 : random_.below(page);
        io.data = memory_.get() + (count * slot_bytes + shift * sector_bytes) / sizeof(*io.data);
        io.nowait = !counted && random_.below(8) == 0;
        // What was written is read before it is written again.
        io.write = random_.below(3) != 0 && !unverified(io.first, io.count);
        fill_in(io);
    }
    {
        const Timed timed(report_, Span::io, "I/O on", own_.disk->name.c_str());
        own_.disk->outstanding += static_cast<int>(count);
        if (own_.disk->polled && random_.below(2) == 0) {
            poll(count);
        } else {
            submit(count);
            reap(count);
        }
        own_.disk->outstanding -= static_cast<int>(count);
    }
    for (unsigned i = 0; i < count && !report_.failed(); ++i)
        if (!ios_[i].write)
            read_back(ios_[i], own_.disk->name.c_str());
}

void Job::fill_in(Io& io) {
    if (!io.write) {
        for (std::uint64_t i = 0; i < io.count; ++i)
            poison(io.data + i * sector_words);
        return;
    }
    ++last_generation_;
    for (std::uint64_t i = 0; i < io.count; ++i) {
        generation_[io.first + i] = last_generation_;
        unverified_[io.first + i] = true;
        fill(io.data + i * sector_words, stamp(io.first + i));
    }
}

void Job::submit(unsigned count) {
    iocb* list[depth];
    for (unsigned i = 0; i < count; ++i) {
        const Io& io = ios_[i];
        blocks_[i] = {};
        blocks_[i].aio_data = i;
        blocks_[i].aio_lio_opcode = io.write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
        blocks_[i].aio_rw_flags = io.nowait ? RWF_NOWAIT : 0;
        blocks_[i].aio_fildes = static_cast<std::uint32_t>(fd_.get());
        blocks_[i].aio_buf = address(io.data);
        blocks_[i].aio_nbytes = io.count * sector_bytes;
        blocks_[i].aio_offset = static_cast<std::int64_t>((own_.first + io.first) * sector_bytes);
        list[i] = &blocks_[i];
    }
    for (unsigned done = 0; done < count;) {
        const long n = syscall(SYS_io_submit, aio_, count - done, list + done);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            throw errno_error(errno, "io_submit on " + own_.disk->name);
        done += n > 0 ? static_cast<unsigned>(n) : 0;
    }
}

void Job::reap(unsigned count) {
    io_event events[depth];
    for (unsigned done = 0; done < count;) {
        const long n = syscall(SYS_io_getevents, aio_, 1, count - done, events, nullptr);
        if (n < 0 && errno != EINTR)
            throw errno_error(errno, "io_getevents on " + own_.disk->name);
        for (long i = 0; i < n; ++i, ++done)
            finish(ios_[events[i].data], events[i].res);
    }
}

// What must not wait was refused, and perhaps half done: now it may.
void Job::again(Io& io) {
    report_.add(Count::nowait_refused);
    const std::size_t bytes = io.count * sector_bytes;
    const auto at = static_cast<off_t>((own_.first + io.first) * sector_bytes);
    const ssize_t got =
        io.write ? pwrite(fd_.get(), io.data, bytes, at) : pread(fd_.get(), io.data, bytes, at);
    if (got != static_cast<ssize_t>(bytes))
        report_.fail(own_.disk->name + ": after EAGAIN: " +
                     (got < 0 ? std::strerror(errno) : std::to_string(got) + " bytes"));
}

// Only io_uring polls: who waits in a system call does not, whatever it asks for.
void Job::poll(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
        const Io& io = ios_[i];
        const auto bytes = static_cast<unsigned>(io.count * sector_bytes);
        io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
        io_uring_prep_rw(io.write ? IORING_OP_WRITE : IORING_OP_READ,
                         sqe,
                         fd_.get(),
                         io.data,
                         bytes,
                         (own_.first + io.first) * sector_bytes);
        sqe->rw_flags = io.nowait ? RWF_NOWAIT : 0;
        sqe->user_data = i;
    }
    for (unsigned done = 0; done < count;) {
        const int error = io_uring_submit_and_wait(&ring_, 1);
        if (error < 0 && error != -EINTR && error != -EAGAIN)
            throw errno_error(-error, "io_uring on " + own_.disk->name);
        for (io_uring_cqe* cqe; io_uring_peek_cqe(&ring_, &cqe) == 0; ++done) {
            finish(ios_[cqe->user_data], cqe->res);
            io_uring_cqe_seen(&ring_, cqe);
        }
    }
    report_.add(Count::polled, count);
}

void Job::finish(Io& io, std::int64_t result) {
    if (result == -EAGAIN && io.nowait)
        again(io);
    else if (result != static_cast<std::int64_t>(io.count * sector_bytes))
        report_.fail(own_.disk->name + ": " + (io.write ? "write" : "read") + " of " +
                     std::to_string(io.count) + " sectors at " +
                     std::to_string(own_.first + io.first) + ": got " + std::to_string(result));
    count_in(io);
}

void Job::count_in(const Io& io) {
    if (io.write) {
        writes_.add(io.count);
        report_.add(Count::writes);
        report_.add(Count::written, io.count * sector_bytes);
    } else {
        reads_.add(io.count);
        report_.add(Count::reads);
    }
}

void Job::read_back(const Io& io, const char* where) {
    std::uint64_t zeroes = 0;
    for (std::uint64_t i = 0; i < io.count; ++i) {
        const Stamp wanted = stamp(io.first + i);
        const std::uint64_t* sector = io.data + i * sector_words;
        if (!matches(sector, wanted)) {
            report_.fail(std::string(where) + ": sector " + std::to_string(wanted.sector) + ", " +
                         std::to_string(i) + " of a read of " + std::to_string(io.count) + ": " +
                         difference(sector, wanted));
            return;
        }
        zeroes += wanted.generation == 0;
        unverified_[io.first + i] = false;
    }
    report_.add(Count::zeroes, zeroes * sector_bytes);
    report_.add(Count::verified, (io.count - zeroes) * sector_bytes);
}

// A discard or write-zeroes: either way a RAM disk of ours gives zeroes afterwards. On counted
// devices it begins at a page, or the block layer makes two of it.
void Job::clear() {
    Io io;
    if (!draw(io, 0))
        return;
    if (own_.disk->counted) {
        const std::uint64_t off = (own_.first + io.first) % page;
        const std::uint64_t skip = off != 0 ? page - off : 0;
        if (io.count <= skip)
            return;
        io.first += skip;
        io.count -= skip;
    }
    if (unverified(io.first, io.count))
        return;
    const bool discard = random_.below(2) == 0;
    std::uint64_t range[2] = {(own_.first + io.first) * sector_bytes, io.count * sector_bytes};
    {
        const Timed timed(
            report_, Span::io, discard ? "discard on" : "write-zeroes on", own_.disk->name.c_str());
        if (ioctl(fd_.get(), discard ? BLKDISCARD : BLKZEROOUT, range) != 0)
            throw errno_error(errno,
                              std::string(discard ? "discard" : "write-zeroes") + " on " +
                                  own_.disk->name);
    }
    report_.add(discard ? Count::discards : Count::write_zeroes);
    // The kernel counts write-zeroes as writes.
    (discard ? discards_ : writes_).add(io.count);
    for (std::uint64_t i = 0; i < io.count; ++i) {
        generation_[io.first + i] = 0;
        unverified_[io.first + i] = true;
    }
}

void Job::work() {
    while (!report_.stopped()) {
        batch();
        if (random_.below(8) == 0)
            clear();
    }
}

// Reads sectors of the job from a place of a device, and compares.
void Job::verify(int fd, std::uint64_t first, std::uint64_t count, std::uint64_t at) {
    while (count > 0 && !report_.failed()) {
        Io io;
        io.first = first;
        io.count = std::min(count, large_max);
        io.data = memory_.get();
        fill_in(io);
        const auto bytes = static_cast<ssize_t>(io.count * sector_bytes);
        if (pread(fd, io.data, io.count * sector_bytes, static_cast<off_t>(at * sector_bytes)) !=
            bytes)
            throw errno_error(errno, "the last read of " + own_.disk->name);
        read_back(io, "at the end");
        first += io.count;
        at += io.count;
        count -= io.count;
    }
}

void Job::verify_all() {
    Activity::mine().doing("the last reads of", own_.disk->name.c_str());
    verify(fd_.get(), 0, own_.count, own_.first);
    // And below all maps: each run that lies in one piece.
    for (std::uint64_t first = 0; first < own_.count;) {
        const Extent lies = Rig::resolve(*own_.disk, own_.first + first);
        std::uint64_t count = 1;
        for (; first + count < own_.count; ++count) {
            const Extent next = Rig::resolve(*own_.disk, own_.first + first + count);
            if (next.disk != lies.disk || next.first != lies.first + count)
                break;
        }
        const Fd fd = Fd::open(lies.disk->node(), O_RDONLY | O_DIRECT);
        verify(fd.get(), first, count, lies.first);
        first += count;
    }
    Activity::mine().doing("nothing that waits");
}

} // namespace tally::torture
