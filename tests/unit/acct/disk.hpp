// SPDX-License-Identifier: GPL-2.0-or-later
// The counting core, compiled for user space, and a disk with two partitions to count on.
#pragma once

#include "shim.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" // C11 has anonymous structures
#pragma GCC diagnostic ignored "-Wunused-parameter" // as in the kernel
#include "acct/acct.h"
#pragma GCC diagnostic pop
#undef min

#include <array>
#include <cstring>
#include <sstream>
#include <string>

constexpr int bdevs = 3; // the whole disk, then its partitions

// What the kernel's files and ours would show, and the stamps behind them.
struct Picture {
    struct Cells {
        std::array<u64, NR_STAT_GROUPS> ios{}, sectors{}, nsecs{};
        u64 io_ticks = 0;
        std::array<long, 2> in_flight{};
        unsigned long stamp = 0;
        bool operator==(const Cells&) const = default;
    };
    std::array<Cells, bdevs> bdev;
    std::array<unsigned, 2> inflight{};
    std::array<int, 2> scratch{};
    int pending = 0;
    u64 busy_ms = 0;
    u64 queue_ms = 0;
    int warnings = 0;
    bool operator==(const Picture&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Picture& p) {
    out << "in-flight " << p.inflight[0] << ' ' << p.inflight[1] << ", pending " << p.pending
        << " (scratch " << p.scratch[0] << ' ' << p.scratch[1] << "), busy " << p.busy_ms
        << " ms, queue " << p.queue_ms << " ms, " << p.warnings << " warnings";
    for (int b = 0; b < bdevs; ++b) {
        out << "\n  bdev " << b << ": stamp " << p.bdev[b].stamp << ", io_ticks "
            << p.bdev[b].io_ticks << ", in_flight " << p.bdev[b].in_flight[0] << ' '
            << p.bdev[b].in_flight[1];
        for (int g = 0; g < NR_STAT_GROUPS; ++g)
            out << " | " << p.bdev[b].ios[g] << ' ' << p.bdev[b].sectors[g] << ' '
                << p.bdev[b].nsecs[g];
    }
    return out;
}

inline union tally_modes modes(tally_inflight_mode inflight,
                               tally_pending_mode pending = PENDING_OFF,
                               tally_ticks_mode ticks = TICKS_OFF,
                               tally_clock_mode clock = CLOCK_OFF) {
    union tally_modes m {};
    m.inflight = inflight;
    m.pending = pending;
    m.ticks = ticks;
    m.clock = clock;
    return m;
}

// The same with the shadow beside them.
inline union tally_modes shadowed(union tally_modes m) {
    m.clock |= TALLY_SHADOW_BIT;
    return m;
}

// The rules for combining modes, as in kmod/acct/modes.c.
inline bool allowed(union tally_modes m) {
    if (m.inflight == INFLIGHT_NATIVE)
        return !m.pending && !m.ticks && !m.clock;
    return m.inflight != INFLIGHT_OFF || (m.ticks != TICKS_ROUND && m.ticks != TICKS_CHECKED);
}

template <class Visit> void for_each_modes(Visit visit) {
    for (int i = 0; i < INFLIGHT_MODES; ++i)
        for (int p = 0; p < PENDING_MODES; ++p)
            for (int t = 0; t < TICKS_MODES; ++t)
                for (int c = 0; c < CLOCK_MODES; ++c) {
                    auto m = modes(tally_inflight_mode(i),
                                   tally_pending_mode(p),
                                   tally_ticks_mode(t),
                                   tally_clock_mode(c));
                    if (allowed(m))
                        visit(m);
                }
}

inline std::string name_of(union tally_modes m) {
    static const char* const inflight[] = {"off", "shared", "split", "percpu", "pernode", "native"};
    static const char* const pending[] = {"off", "shared", "percpu"};
    static const char* const ticks[] = {"off", "round", "sampled", "elapsed", "checked", "exact"};
    static const char* const clock[] = {"off", "jiffies", "ns"};
    std::ostringstream out;
    out << "inflight=" << inflight[m.inflight] << " pending=" << pending[m.pending]
        << " ticks=" << ticks[m.ticks] << " clock=" << clock[m.clock];
    return out.str();
}

class Disk {
public:
    explicit Disk(union tally_modes m, unsigned long now = 1000) {
        jiffies = now;
        shim_ns = 7777777; // no multiple of a jiffy
        shim_ns_per_look = 0;
        shim_cpu = 0;
        shim_warnings = 0;
        shim_native_begun.clear();
        shim_native_ended.clear();
        for (int b = 0; b < bdevs; ++b)
            bdev[b] = {stats_[b].get(),
                       0,
                       &bdev[0],
                       &queue,
                       b + 1 < bdevs ? &bdev[b + 1] : nullptr};
        a.whole = &bdev[0];
        a.busy = busy_.get();
        a.pending_cells = pending_.get();
        a.nodes = nodes_.data();
        a.shared.stamp = now;
        a.modes = m;
    }
    Disk(const Disk&) = delete;
    Disk& operator=(const Disk&) = delete;

    tally_io begin(int part = 0, req_op op = REQ_OP_READ, unsigned sectors = 8) {
        tally_io io;
        std::memset(&io, 0xa5, sizeof(io)); // as a record is found that another I/O had
        tally_begin(&a, &io, &bdev[part], op, sectors);
        return io;
    }
    void end(tally_io& io) { tally_end(&a, &io); }
    void read() { tally_ticks_before_read(&a, a.modes); }

    disk_stats& cells(int part, int cpu) { return *per_cpu_ptr(bdev[part].bd_stats, cpu); }
    long pending_cell(int cpu) { return long(*per_cpu_ptr(a.pending_cells, cpu)); }

    int pending() {
        if (a.modes.pending == PENDING_SHARED)
            return atomic_read(&a.pending.n[0]) + atomic_read(&a.pending.n[1]);
        long sum = 0;
        for (int cpu = 0; a.modes.pending == PENDING_PERCPU && cpu < shim_cpus; ++cpu)
            sum += pending_cell(cpu);
        return int(sum);
    }

    // What the running kernel does when its files are read: it credits the time since the stamp
    // if its cells say that anything is in flight.
    void kernel_reads(int part) {
        if (in_flight(part) <= 0 || bdev[part].bd_stamp == jiffies)
            return;
        cells(part, 0).io_ticks += jiffies - bdev[part].bd_stamp;
        bdev[part].bd_stamp = jiffies;
    }
    long in_flight(int part) {
        long sum = 0;
        for (int cpu = 0; cpu < shim_cpus; ++cpu)
            for (const local_t& cell : cells(part, cpu).in_flight)
                sum += local_read(&cell);
        return sum;
    }

    // Read without what a reader does first.
    Picture picture() {
        Picture p;
        for (int b = 0; b < bdevs; ++b) {
            p.bdev[b].stamp = bdev[b].bd_stamp;
            for (int cpu = 0; cpu < shim_cpus; ++cpu) {
                const disk_stats& s = cells(b, cpu);
                for (int g = 0; g < NR_STAT_GROUPS; ++g) {
                    p.bdev[b].ios[g] += s.ios[g];
                    p.bdev[b].sectors[g] += s.sectors[g];
                    p.bdev[b].nsecs[g] += s.nsecs[g];
                }
                p.bdev[b].io_ticks += s.io_ticks;
                for (int d = 0; d < 2; ++d)
                    p.bdev[b].in_flight[d] += local_read(&s.in_flight[d]);
            }
        }
        tally_inflight_read(&a, a.modes, p.inflight.data());
        for (int d = 0; d < 2; ++d)
            p.scratch[d] = atomic_read(&a.shared.scratch[d]);
        p.pending = pending();
        p.busy_ms = tally_ticks_read(&a);
        p.queue_ms = tally_queue_read(&a);
        p.warnings = shim_warnings;
        return p;
    }

    request_queue queue{true};
    std::array<block_device, bdevs> bdev{};
    tally_acct a{};

private:
    std::array<PerCpu<disk_stats>, bdevs> stats_;
    PerCpu<tally_busy> busy_;
    PerCpu<unsigned long> pending_;
    std::array<tally_node_pair, nr_node_ids> nodes_{};
};
