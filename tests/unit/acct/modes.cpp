// SPDX-License-Identifier: GPL-2.0-or-later
// What each mode of each axis does, one property at a time.
#include "catch.hpp"

#include "disk.hpp"

namespace {

using Pair = std::array<unsigned, 2>;

void pass(unsigned long n) {
    jiffies += n;
    shim_ns += n * 4000000;
}

// What the running kernel's /sys/block/D/stat would add to io_ticks: the time since the stamp, if
// its cells say that anything is in flight.
u64 readers_credit(const Picture& p, int part) {
    const auto& cells = p.bdev[std::size_t(part)];
    return cells.in_flight[0] + cells.in_flight[1] > 0 ? jiffies - cells.stamp : 0;
}

} // namespace

TEST_CASE("in-flight goes 1 0, 1 1, 0 0, wherever the I/O ends") {
    for (auto mode :
         {INFLIGHT_SHARED, INFLIGHT_SPLIT, INFLIGHT_PERCPU, INFLIGHT_PERNODE, INFLIGHT_NATIVE}) {
        Disk disk(modes(mode));
        INFO(name_of(disk.a.modes));
        tally_io read = disk.begin(0, REQ_OP_READ);
        CHECK(disk.picture().inflight == Pair{1, 0});
        shim_cpu = 2;
        tally_io write = disk.begin(1, REQ_OP_WRITE);
        CHECK(disk.picture().inflight == Pair{1, 1});
        CHECK(tally_inflight_total(&disk.a, disk.a.modes) == 2);
        shim_cpu = 3;
        disk.end(read);
        disk.end(write);
        CHECK(disk.picture().inflight == Pair{0, 0});
    }
}

TEST_CASE("per-CPU cells go negative, their sum is right") {
    Disk disk(modes(INFLIGHT_PERCPU, PENDING_PERCPU));
    tally_io a = disk.begin(), b = disk.begin();
    shim_cpu = 3;
    disk.end(a);
    CHECK(local_read(&disk.cells(0, 0).in_flight[0]) == 2);
    CHECK(local_read(&disk.cells(0, 3).in_flight[0]) == -1);
    CHECK(disk.pending_cell(0) == 2);
    CHECK(disk.pending_cell(3) == -1);
    CHECK(disk.picture().inflight == Pair{1, 0});
    CHECK(disk.picture().pending == 1);
    disk.end(b);
    CHECK(disk.picture().inflight == Pair{0, 0});
    CHECK(disk.picture().pending == 0);

    // A reader that sees an end without its begin, shows nothing below zero.
    disk.cells(0, 1).in_flight[0].counter -= 1;
    disk.cells(0, 1).in_flight[1].counter += 3;
    CHECK(disk.picture().inflight == Pair{0, 3});
    CHECK(tally_inflight_total(&disk.a, disk.a.modes) == 3);
}

TEST_CASE("an I/O is taken off the node that it was counted on") {
    Disk disk(modes(INFLIGHT_PERNODE));
    shim_cpu = 3;
    tally_io io = disk.begin(0, REQ_OP_WRITE);
    CHECK(atomic_read(&disk.a.nodes[1].pair.n[1]) == 1);
    shim_cpu = 0;
    disk.end(io);
    CHECK(atomic_read(&disk.a.nodes[0].pair.n[1]) == 0);
    CHECK(atomic_read(&disk.a.nodes[1].pair.n[1]) == 0);
}

TEST_CASE("an I/O to a partition counts there and on the disk") {
    Disk disk(modes(INFLIGHT_PERCPU, PENDING_OFF, TICKS_CHECKED, CLOCK_JIFFIES));
    tally_io io = disk.begin(2, REQ_OP_WRITE, 24);
    pass(3);
    CHECK(disk.picture().bdev[2].in_flight == std::array<long, 2>{0, 1});
    CHECK(disk.picture().bdev[0].in_flight == std::array<long, 2>{0, 1});
    CHECK(disk.picture().bdev[1].in_flight == std::array<long, 2>{0, 0});
    disk.end(io);
    const Picture p = disk.picture();
    for (std::size_t b : {0, 2}) {
        CHECK(p.bdev[b].in_flight == std::array<long, 2>{0, 0});
        CHECK(p.bdev[b].ios[STAT_WRITE] == 1);
        CHECK(p.bdev[b].sectors[STAT_WRITE] == 24);
        CHECK(p.bdev[b].nsecs[STAT_WRITE] == 12000000);
        CHECK(p.bdev[b].io_ticks == 3);
    }
    CHECK(p.bdev[1] == Picture::Cells{});
}

TEST_CASE("I/Os, sectors and times land at the end, on its CPU, in their group") {
    const struct {
        req_op op;
        int group;
    } operations[] = {{REQ_OP_READ, STAT_READ},
                      {REQ_OP_WRITE, STAT_WRITE},
                      {REQ_OP_WRITE_ZEROES, STAT_WRITE},
                      {REQ_OP_DISCARD, STAT_DISCARD}};
    for (const auto& [op, group] : operations) {
        Disk disk(modes(INFLIGHT_SPLIT, PENDING_OFF, TICKS_OFF, CLOCK_JIFFIES));
        tally_io io = disk.begin(0, op, 40);
        CHECK(disk.picture().bdev[0].ios == std::array<u64, NR_STAT_GROUPS>{});
        CHECK(disk.picture().inflight == (op == REQ_OP_READ ? Pair{1, 0} : Pair{0, 1}));
        pass(2);
        shim_cpu = 1;
        disk.end(io);
        CHECK(disk.cells(0, 1).ios[group] == 1);
        CHECK(disk.cells(0, 1).sectors[group] == 40);
        CHECK(disk.cells(0, 1).nsecs[group] == 8000000);
        for (int g = 0; g < NR_STAT_GROUPS; ++g)
            CHECK(disk.picture().bdev[0].ios[g] == (g == group));
    }
}

TEST_CASE("the clock: off, jiffies, ns") {
    const struct {
        tally_clock_mode clock;
        u64 nsecs;
    } expected[] = {{CLOCK_OFF, 0}, {CLOCK_JIFFIES, 4000000}, {CLOCK_NS, 4000123}};
    for (const auto& [clock, nsecs] : expected) {
        Disk disk(modes(INFLIGHT_SHARED, PENDING_OFF, TICKS_OFF, clock));
        tally_io io = disk.begin();
        pass(1);
        shim_ns += 123;
        disk.end(io);
        tally_io brief = disk.begin();
        disk.end(brief);
        CHECK(disk.picture().bdev[0].nsecs[STAT_READ] == nsecs);
        CHECK(disk.picture().bdev[0].ios[STAT_READ] == 2);
    }
}

TEST_CASE("a partition and its disk are given the same time") {
    Disk disk(modes(INFLIGHT_PERCPU, PENDING_OFF, TICKS_OFF, CLOCK_NS));
    shim_ns_per_look = 30;
    tally_io io = disk.begin(1);
    pass(1);
    disk.end(io);
    const Picture p = disk.picture();
    CHECK(p.bdev[1].nsecs[STAT_READ] == 4000030);
    CHECK(p.bdev[0].nsecs[STAT_READ] == p.bdev[1].nsecs[STAT_READ]);
}

TEST_CASE("pending=shared stores into the in-flight line only with inflight=shared") {
    for (auto mode : {INFLIGHT_SHARED, INFLIGHT_SPLIT, INFLIGHT_PERCPU}) {
        Disk disk(modes(mode, PENDING_SHARED));
        tally_io a = disk.begin(0, REQ_OP_WRITE), b = disk.begin(0, REQ_OP_WRITE);
        CHECK(disk.picture().pending == 2);
        CHECK(disk.picture().scratch[1] == (mode == INFLIGHT_SHARED ? 2 : 0));
        disk.end(a);
        CHECK(disk.picture().scratch[1] == (mode == INFLIGHT_SHARED ? 1 : 0));
        CHECK(disk.picture().inflight == Pair{0, 1});
        disk.end(b);
        CHECK(disk.picture().pending == 0);
        CHECK(disk.picture().inflight == Pair{0, 0});
    }
}

TEST_CASE("native calls the kernel with what was latched, and touches nothing of ours") {
    Disk disk(modes(INFLIGHT_NATIVE));
    tally_io io = disk.begin(1, REQ_OP_DISCARD, 64);
    CHECK(disk.picture().inflight == std::array{0U, 1U}); // seen on the disk, counted on a part
    pass(5);
    disk.end(io);
    REQUIRE(shim_native_begun.size() == 1);
    REQUIRE(shim_native_ended.size() == 1);
    CHECK(shim_native_begun[0].sectors == 64);
    CHECK(shim_native_ended[0].bdev == &disk.bdev[1]);
    CHECK(shim_native_ended[0].op == REQ_OP_DISCARD);
    CHECK(shim_native_ended[0].sectors == 64);
    CHECK(shim_native_ended[0].start == 1000);
    Picture kernels;
    kernels.bdev[1].stamp = 1000;
    CHECK(disk.picture() == kernels);
}

TEST_CASE("nothing is latched while queue/iostats is 0") {
    for_each_modes([](union tally_modes m) {
        Disk disk(m);
        INFO(name_of(m));
        tally_io before = disk.begin();
        disk.queue.io_stat = false;
        const Picture p = disk.picture();
        tally_io during = disk.begin(1, REQ_OP_WRITE);
        CHECK(during.modes.all == 0);
        CHECK(disk.picture() == p);
        disk.end(before); // was counted, is taken off
        CHECK(disk.picture().inflight == Pair{0, 0});
        disk.queue.io_stat = true;
        const Picture q = disk.picture();
        disk.end(during); // was not, is not
        CHECK(disk.picture() == q);
        CHECK(shim_warnings == 0);
    });
}

TEST_CASE("a mode that changes between begin and end warns and stays balanced") {
    for_each_modes([](union tally_modes from) {
        if (!from.all)
            return;
        for_each_modes([&](union tally_modes to) {
            if (to.all == from.all)
                return;
            Disk disk(from);
            tally_io io = disk.begin(1, REQ_OP_WRITE);
            disk.a.modes = to;
            pass(2);
            shim_cpu = 2;
            disk.end(io);
            bool balanced = shim_warnings == 1 && disk.a.exact.count == 0;
            for (union tally_modes m : {from, to}) {
                disk.a.modes = m;
                const Picture p = disk.picture();
                balanced = balanced && p.inflight == Pair{0, 0} && p.pending == 0 &&
                           p.bdev[1].in_flight[1] == 0;
            }
            if (!balanced) {
                INFO(name_of(from) << " -> " << name_of(to));
                FAIL(disk.picture());
            }
        });
    });
}

TEST_CASE("bd_stamp is kept by whoever counts in the kernel's in-flight cells") {
    for_each_modes([](union tally_modes m) {
        const bool kernels = m.inflight == INFLIGHT_PERCPU || m.inflight == INFLIGHT_NATIVE;
        for (int part = 0; part < bdevs; ++part) {
            Disk disk(m, 4294690872);
            INFO(name_of(m) << ", bdev " << part);
            tally_io io = disk.begin(part); // the first ever: the stamps are 0
            CHECK(readers_credit(disk.picture(), 0) == 0);
            CHECK(readers_credit(disk.picture(), part) == 0);
            pass(3);
            CHECK(readers_credit(disk.picture(), part) == (kernels ? 3 : 0));
            disk.end(io);
            pass(100000);
            io = disk.begin(part); // after a long pause
            CHECK(readers_credit(disk.picture(), 0) == 0);
            CHECK(readers_credit(disk.picture(), part) == 0);
            if (!kernels)
                CHECK(disk.bdev[std::size_t(part)].bd_stamp == 0);
        }
    });
}

TEST_CASE("a sum of one model stays when another takes over") {
    Disk disk(modes(INFLIGHT_SHARED, PENDING_OFF, TICKS_ROUND));
    tally_io io = disk.begin();
    pass(5);
    disk.end(io);
    disk.a.modes = modes(INFLIGHT_SHARED, PENDING_OFF, TICKS_EXACT);
    io = disk.begin();
    pass(7);
    CHECK(disk.picture().busy_ms == 48); // seen while the I/O is under way
    disk.end(io);
    CHECK(disk.picture().busy_ms == 48);
    CHECK(disk.picture().bdev[0].io_ticks == 12);
}

TEST_CASE("the kernel's own readers never add time that a model has added, and lose none") {
    for (auto ticks : {TICKS_ROUND, TICKS_CHECKED})
        for (unsigned long every = 1; every <= 4; ++every) {
            Disk disk(modes(INFLIGHT_PERCPU, PENDING_OFF, ticks));
            INFO(name_of(disk.a.modes) << ", read every " << every << " jiffies");
            u64 busy = 0;
            for (int round = 0; round < 50; ++round) {
                tally_io a = disk.begin();
                for (unsigned long jiffy = 1; jiffy <= 6; ++jiffy) {
                    pass(1);
                    if (jiffy % every == 0)
                        disk.kernel_reads(0);
                }
                tally_io b = disk.begin(0, REQ_OP_WRITE);
                disk.end(a);
                pass(2);
                disk.end(b);
                busy += 8;
                CHECK(disk.picture().bdev[0].io_ticks == busy);
                CHECK(disk.picture().busy_ms == busy * 4);
                pass(5);
                disk.kernel_reads(0); // idle: nothing to add
            }
            CHECK(disk.picture().bdev[0].io_ticks == busy);
        }
}

TEST_CASE("exact mirrors what many short I/Os come to") {
    Disk disk(modes(INFLIGHT_PERCPU, PENDING_OFF, TICKS_EXACT));
    for (int i = 0; i < 100; ++i) {
        tally_io io = disk.begin();
        shim_ns += 2000000; // half of each jiffy
        disk.end(io);
        shim_ns += 2000000;
        ++jiffies;
    }
    CHECK(disk.picture().busy_ms == 200);
    CHECK(disk.picture().bdev[0].io_ticks == 50);
}

TEST_CASE("exact leaves out what the kernel's readers have credited") {
    Disk disk(modes(INFLIGHT_PERCPU, PENDING_OFF, TICKS_EXACT));
    for (int i = 0; i < 10; ++i) {
        tally_io io = disk.begin();
        jiffies += 3;
        shim_ns += 12000000;
        disk.kernel_reads(0);
        disk.kernel_reads(0);
        jiffies += 2;
        shim_ns += 8000000;
        disk.end(io);
        CHECK(disk.picture().bdev[0].io_ticks == 5 * u64(i + 1));
        jiffies += 7;
        shim_ns += 28000000;
    }
}

TEST_CASE("exact keeps what a disk did while its I/Os changed places") {
    Disk disk(modes(INFLIGHT_PERCPU, PENDING_OFF, TICKS_EXACT));
    // Between two I/Os that overlap: one ends after the other has begun to be counted in ticks,
    // but not in flight. The kernel's cells are zero then, the disk is not idle.
    tally_io first = disk.begin();
    for (int i = 0; i < 10; ++i) {
        jiffies += 100;
        shim_ns += 400000000;
        tally_exact_begin(&disk.a, disk.a.modes);
        disk.end(first);
        tally_inflight_begin(&disk.a, &first, disk.a.modes, jiffies);
        disk.kernel_reads(0);
    }
    ++jiffies;
    shim_ns += 4000000;
    disk.end(first);
    CHECK(disk.picture().bdev[0].io_ticks == 1001);
    CHECK(disk.picture().busy_ms == 4004);
}

TEST_CASE("exact of a disk that never falls idle shows as it goes") {
    for (auto inflight : {INFLIGHT_SHARED, INFLIGHT_PERCPU}) {
        Disk disk(modes(inflight, PENDING_OFF, TICKS_EXACT));
        tally_io last = disk.begin();
        for (u64 i = 1; i <= 10; ++i) {
            tally_io io = disk.begin();
            ++jiffies;
            shim_ns += 4000000;
            std::swap(io, last);
            disk.end(io);
            CHECK(disk.picture().bdev[0].io_ticks == i);
        }
    }
}

TEST_CASE("exact makes up for readers that round") {
    Disk disk(modes(INFLIGHT_PERCPU, PENDING_OFF, TICKS_EXACT));
    for (int i = 0; i < 100; ++i) {
        // A tenth of a jiffy, across its border, and one in twenty is read there.
        tally_io io = disk.begin();
        ++jiffies;
        shim_ns += 400000;
        if (i % 20 == 0)
            disk.kernel_reads(0);
        disk.end(io);
        ++jiffies;
    }
    CHECK(disk.picture().bdev[0].io_ticks == 10);
}
