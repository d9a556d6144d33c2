// SPDX-License-Identifier: GPL-2.0-or-later
// The drain reference of a map: what is changed while it is drained, all who hold a reference see
// whole, and what they did under it, who drained sees. ThreadSanitizer judges the order.
#include "catch.hpp"

#include "map/drain.h"

namespace {

constexpr unsigned changes = 400;

struct Map {
    percpu_ref ref;
    // Plain memory, as a table and its modes are.
    unsigned table[2] = {};
    unsigned long seen[shim_cpus] = {}; // each CPU's own, read by who drained
};

// As an I/O: through the gate, look, leave a trace, out again.
bool pass(Map& map) {
    if (!drain_tryget(&map.ref))
        return false;
    const bool whole = map.table[0] == map.table[1];
    map.seen[shim_cpu]++;
    drain_put(&map.ref);
    if (!whole)
        throw std::runtime_error("a table half changed");
    return true;
}

} // namespace

TEST_CASE("the gate is shut while a table changes") {
    Map map;
    CHECK(pass(map));
    percpu_ref_kill(&map.ref);
    CHECK(drain_is_empty(&map.ref));
    CHECK(!pass(map));
    drain_open(&map.ref);
    CHECK(pass(map));
}

TEST_CASE("a drain waits for who is inside") {
    Map map;
    REQUIRE(drain_tryget(&map.ref));
    percpu_ref_kill(&map.ref);
    CHECK(!drain_is_empty(&map.ref));
    drain_put(&map.ref);
    CHECK(drain_is_empty(&map.ref));
}

TEST_CASE("tables change under load, and each is seen whole") {
    Map map;
    std::atomic<bool> stop = false;
    std::atomic<unsigned long> passed = 0, refused = 0;
    std::vector<std::thread> threads;
    for (int cpu = 0; cpu < shim_cpus - 1; ++cpu)
        threads.emplace_back([&, cpu] {
            shim_cpu = cpu;
            while (!stop.load(std::memory_order_relaxed))
                pass(map) ? passed.fetch_add(1, std::memory_order_relaxed)
                          : refused.fetch_add(1, std::memory_order_relaxed);
        });
    shim_cpu = shim_cpus - 1;
    for (unsigned i = 1; i <= changes; ++i) {
        const unsigned long before = passed;
        while (passed.load(std::memory_order_relaxed) == before)
            std::this_thread::yield(); // each table is used
        percpu_ref_kill(&map.ref);
        while (!drain_is_empty(&map.ref))
            std::this_thread::yield();
        unsigned long sum = 0;
        for (unsigned long seen : map.seen)
            sum += seen;
        CHECK(sum >= i);
        map.table[0] = i;
        std::this_thread::yield();
        map.table[1] = i;
        drain_open(&map.ref);
    }
    stop = true;
    for (auto& thread : threads)
        thread.join();
    unsigned long sum = 0;
    for (unsigned long seen : map.seen)
        sum += seen;
    CHECK(sum == passed);
    CHECK(refused > 0);
}
