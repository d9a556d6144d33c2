// SPDX-License-Identifier: GPL-2.0-or-later
// One thread of verified I/O: it owns a run of sectors of one device and knows what each must hold.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <liburing.h>
#include <linux/aio_abi.h>

#include "blktally/fd.hpp"
#include "measure/random.hpp"
#include "pattern.hpp"
#include "report.hpp"
#include "rig.hpp"

namespace tally::torture {

// I/Os and their sectors, as the device has to count them.
struct Issued {
    std::uint64_t ios = 0, sectors = 0;
    void add(std::uint64_t count) noexcept {
        ++ios;
        sectors += count;
    }
};

class Job {
public:
    static constexpr unsigned depth = 4;

    Job(Report& report, unsigned number, const Extent& own, std::uint64_t seed);
    ~Job();

    void work();       // until the run is stopped
    void verify_all(); // every sector, as it was written and where it must lie in the end

    Device& device() const noexcept { return *own_.disk; }
    const Issued& reads() const noexcept { return reads_; }
    const Issued& writes() const noexcept { return writes_; }
    const Issued& discards() const noexcept { return discards_; }

private:
    // One I/O of a batch, in sectors from the first that is owned.
    struct Io {
        std::uint64_t first = 0, count = 0;
        bool write = false, nowait = false;
        std::uint64_t* data = nullptr;
    };
    struct Release {
        void operator()(void* memory) const noexcept;
    };

    bool draw(Io& io, unsigned before);
    bool unverified(std::uint64_t first, std::uint64_t count) const noexcept;
    Stamp stamp(std::uint64_t sector) const noexcept;
    void batch();
    void submit(unsigned count);
    void reap(unsigned count);
    void finish(Io& io, std::int64_t result);
    void again(Io& io);
    void poll(unsigned count); // instead of submit and reap
    void clear();
    void fill_in(Io& io);
    void read_back(const Io& io, const char* where);
    void verify(int fd, std::uint64_t first, std::uint64_t count, std::uint64_t at);
    void count_in(const Io& io);

    Report& report_;
    unsigned number_;
    Extent own_;
    Random random_;
    Fd fd_;
    std::vector<std::uint32_t> generation_; // of each sector; 0: reads as zeroes
    std::vector<bool> unverified_;          // changed since it was compared
    std::uint32_t last_generation_ = 0;
    std::unique_ptr<std::uint64_t, Release> memory_;
    aio_context_t aio_ = 0;
    io_uring ring_{}; // of a polled device
    Io ios_[depth];
    iocb blocks_[depth];
    Issued reads_, writes_, discards_;
};

} // namespace tally::torture
