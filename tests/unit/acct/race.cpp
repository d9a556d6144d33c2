// SPDX-License-Identifier: GPL-2.0-or-later
// One thread per CPU, I/Os that end on other CPUs than they began on, a reader and a running
// clock. ThreadSanitizer looks on; here only what must hold at the end is checked.
#include "catch.hpp"

#include "disk.hpp"

#include <mutex>
#include <thread>

namespace {

constexpr unsigned rounds = 2000;

class Exchange {
public:
    // Leaves an I/O, takes another one's.
    tally_io swap(const tally_io& io) {
        std::lock_guard guard(lock_);
        ios_.push_back(io);
        tally_io other = ios_.front();
        ios_.erase(ios_.begin());
        return other;
    }

    explicit Exchange(std::vector<tally_io> ios) : ios_(std::move(ios)) {}
    std::vector<tally_io> ios_;

private:
    std::mutex lock_;
};

void race(union tally_modes m) {
    Disk disk(m);
    Exchange exchange({disk.begin(1), disk.begin(2, REQ_OP_WRITE), disk.begin(0, REQ_OP_WRITE)});
    std::atomic<int> running = shim_cpus - 1;
    std::vector<std::thread> threads;
    for (int cpu = 0; cpu < shim_cpus - 1; ++cpu)
        threads.emplace_back([&, cpu] {
            shim_cpu = cpu;
            for (unsigned i = 0; i < rounds; ++i) {
                tally_io io =
                    exchange.swap(disk.begin(int(i) % bdevs, i % 2 ? REQ_OP_READ : REQ_OP_WRITE));
                disk.end(io);
            }
            --running;
        });
    shim_cpu = shim_cpus - 1; // reads, and is the clock
    volatile u64 seen = 0; // or the reads would be left out
    for (unsigned turn = 0; running; ++turn) {
        shim_ns += 4000000;
        ++jiffies;
        std::this_thread::yield(); // the jiffy is the others' to win
        if (turn % 4 == 0)
            disk.read();
        unsigned n[2];
        tally_inflight_read(&disk.a, m, n);
        seen = seen + tally_ticks_read(&disk.a);
    }
    for (auto& thread : threads)
        thread.join();
    for (tally_io& io : exchange.ios_)
        disk.end(io);

    const Picture p = disk.picture();
    INFO(p);
    CHECK(p.inflight == std::array<unsigned, 2>{});
    CHECK(p.pending == 0);
    CHECK(p.warnings == 0);
    CHECK(p.bdev[0].ios[STAT_READ] + p.bdev[0].ios[STAT_WRITE] == (shim_cpus - 1) * rounds + 3);
    for (const auto& cells : p.bdev)
        CHECK(cells.in_flight == std::array<long, 2>{});
    // Each jiffy has one winner; a plain store, as in round, may give it to two.
    if (m.ticks == TICKS_CHECKED || m.ticks == TICKS_EXACT)
        CHECK(p.busy_ms <= (jiffies - 1000) * 4);
    // The three at the start and what took their places kept the disk busy all the time. An end
    // may find the clock between its two hands, and the last jiffies are those after it.
    if (m.ticks == TICKS_EXACT)
        CHECK(std::abs(long(p.bdev[0].io_ticks) - long(p.busy_ms / 4)) <= 1);
}

} // namespace

TEST_CASE("counting on several CPUs at once") {
    race(modes(INFLIGHT_SHARED, PENDING_SHARED, TICKS_ROUND, CLOCK_JIFFIES));   // linux-4.20
    race(modes(INFLIGHT_PERCPU, PENDING_SHARED, TICKS_SAMPLED, CLOCK_JIFFIES)); // percpu-v1
    race(modes(INFLIGHT_PERCPU, PENDING_OFF, TICKS_SAMPLED, CLOCK_JIFFIES));    // linux-5.0
    race(modes(INFLIGHT_PERCPU, PENDING_PERCPU, TICKS_ELAPSED, CLOCK_JIFFIES)); // linux-5.18
    race(modes(INFLIGHT_PERCPU, PENDING_PERCPU, TICKS_CHECKED, CLOCK_JIFFIES)); // linux-6.10
    race(modes(INFLIGHT_SPLIT, PENDING_PERCPU, TICKS_EXACT, CLOCK_NS));
    race(modes(INFLIGHT_PERCPU, PENDING_PERCPU, TICKS_EXACT, CLOCK_NS));
    race(modes(INFLIGHT_PERNODE, PENDING_SHARED, TICKS_CHECKED, CLOCK_NS));
}
