// SPDX-License-Identifier: GPL-2.0-or-later
// The shadow counter: agrees with every mode at every quiesce, and says so when one is wrong.
#include "catch.hpp"

#include "disk.hpp"

#include <random>
#include <vector>

TEST_CASE("the shadow agrees with every mode at each of 1,000 quiesces") {
    const req_op ops[] = {REQ_OP_READ, REQ_OP_WRITE, REQ_OP_DISCARD, REQ_OP_FLUSH};
    for_each_modes([&](union tally_modes m) {
        Disk disk(shadowed(m));
        INFO(name_of(m));
        std::mt19937 random(7);
        std::vector<tally_io> open;
        for (int quiesce = 0; quiesce < 1000; ++quiesce) {
            for (unsigned n = random() % 4; n; --n) {
                shim_cpu = int(random() % shim_cpus);
                open.push_back(disk.begin(int(random() % bdevs), ops[random() % std::size(ops)]));
            }
            const int in_flight = atomic_read(&disk.a.shadow.pair.n[0]) +
                                  atomic_read(&disk.a.shadow.pair.n[1]);
            REQUIRE(in_flight == int(open.size()));
            for (tally_io& io : open) {
                shim_cpu = int(random() % shim_cpus);
                disk.end(io);
            }
            open.clear();
            tally_shadow_check(&disk.a);
        }
        CHECK(disk.a.shadow.checks == 1000);
        CHECK(disk.a.shadow.differences == 0);
        CHECK(atomic_read(&disk.a.shadow.negative) == 0);
        CHECK(shim_warnings == 0);
    });
}

TEST_CASE("the shadow tells a mode that lost an end, or made one up") {
    for (auto mode : {INFLIGHT_SHARED, INFLIGHT_SPLIT, INFLIGHT_PERCPU, INFLIGHT_PERNODE}) {
        for (req_op op : {REQ_OP_READ, REQ_OP_WRITE})
            for (bool lost : {true, false}) {
                const auto m = shadowed(modes(mode));
                Disk disk(m);
                INFO(name_of(tally_modes_axes(m)));
                tally_io io = disk.begin(0, op);
                disk.end(io);
                // Once more, behind the shadow's back.
                auto behind = modes(mode);
                io.dir = op_is_write(op);
                if (lost)
                    tally_inflight_begin(&disk.a, &io, behind, jiffies);
                else
                    tally_inflight_end(&disk.a, &io, behind);
                tally_shadow_check(&disk.a);
                CHECK(disk.a.shadow.checks == 1);
                CHECK(disk.a.shadow.differences == 1);
            }
    }
}

TEST_CASE("the shadow tells what else was not taken back") {
    struct Leak {
        const char* what;
        void (*make)(Disk&);
    };
    const Leak leaks[] = {
        {"an I/O of a partition", [](Disk& d) { d.cells(2, 3).in_flight[1].counter++; }},
        {"pending, shared", [](Disk& d) { atomic_inc(&d.a.pending.n[1]); }},
        {"pending, per CPU", [](Disk& d) { ++*per_cpu_ptr(d.a.pending_cells, 1); }},
        {"exact", [](Disk& d) { d.a.exact.count++; }},
    };
    for (const Leak& leak : leaks) {
        INFO(leak.what);
        const auto m = shadowed(modes(INFLIGHT_PERCPU, PENDING_PERCPU, TICKS_EXACT, CLOCK_NS));
        Disk disk(m);
        tally_shadow_check(&disk.a);
        CHECK(disk.a.shadow.differences == 0);
        leak.make(disk);
        tally_shadow_check(&disk.a);
        CHECK(disk.a.shadow.differences == 1);
    }
}

TEST_CASE("the shadow tells a native count that stays") {
    const auto m = shadowed(modes(INFLIGHT_NATIVE));
    Disk disk(m);
    tally_io io = disk.begin();
    disk.end(io);
    tally_cell_add(&disk.bdev[1], 0, 1);
    tally_shadow_check(&disk.a);
    CHECK(disk.a.shadow.differences == 1);
}

TEST_CASE("the shadow tells an I/O that it alone has seen") {
    const auto m = shadowed(modes(INFLIGHT_OFF));
    Disk disk(m);
    tally_io io = disk.begin();
    tally_shadow_check(&disk.a); // not quiesced
    CHECK(disk.a.shadow.differences == 1);
    disk.end(io);
    tally_shadow_check(&disk.a);
    CHECK(disk.a.shadow.checks == 2);
    CHECK(disk.a.shadow.differences == 1);
}

TEST_CASE("reads that meet a sum below zero are counted, and show zero") {
    const auto m = shadowed(modes(INFLIGHT_PERCPU));
    Disk disk(m);
    disk.cells(0, 1).in_flight[1].counter -= 1;
    for (int read = 1; read <= 2; ++read) {
        std::array<unsigned, 2> n{7, 7};
        tally_shadow_read(&disk.a, m, n.data());
        CHECK(n == std::array<unsigned, 2>{});
        CHECK(atomic_read(&disk.a.shadow.negative) == read);
    }
    disk.cells(0, 2).in_flight[1].counter += 3;
    std::array<unsigned, 2> n{};
    tally_shadow_read(&disk.a, m, n.data());
    CHECK(n == std::array<unsigned, 2>{0, 2});
    CHECK(atomic_read(&disk.a.shadow.negative) == 2);
}

TEST_CASE("without the shadow nothing is compared") {
    Disk disk(modes(INFLIGHT_PERCPU));
    tally_io io = disk.begin();
    CHECK(atomic_read(&disk.a.shadow.pair.n[0]) == 0);
    disk.end(io);
    tally_shadow_check(&disk.a);
    CHECK(disk.a.shadow.checks == 0);
}
