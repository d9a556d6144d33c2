// SPDX-License-Identifier: GPL-2.0-or-later
// Recorded and random sequences of starts, ends and reads, through the core and through the
// reference, compared after each step.
#include "catch.hpp"

#include "reference.hpp"

#include <random>

namespace {

struct Open {
    tally_io io;
    Reference::Io reference;
};

class Replay {
public:
    explicit Replay(union tally_modes m, unsigned long now = 1000)
        : disk(m, now), reference(tally_modes_axes(m), now) {
        log_ << name_of(tally_modes_axes(m)) << '\n';
    }

    void advance(unsigned long n, u64 ns) {
        jiffies += n;
        shim_ns += n * 4000000 + ns;
        log_ << " +" << n;
    }
    void start(int cpu, int part, req_op op, unsigned sectors) {
        shim_cpu = cpu;
        log_ << " start(cpu " << cpu << ", bdev " << part << ", op " << op << ')';
        auto was = reference.begin(part, op, sectors);
        open.push_back({disk.begin(part, op, sectors), was});
        check();
    }
    void end(int cpu, std::size_t which) {
        shim_cpu = cpu;
        log_ << " end(cpu " << cpu << ", #" << which << ')';
        Open io = open[which];
        open.erase(open.begin() + std::ptrdiff_t(which));
        reference.end(io.reference);
        disk.end(io.io);
        check();
    }
    void read(int cpu) {
        shim_cpu = cpu;
        log_ << " read(cpu " << cpu << ')';
        reference.read();
        disk.read();
        check();
    }

    void check() {
        const Picture core = disk.picture(), expected = reference.picture(open);
        if (core == expected)
            return;
        INFO("after " << log_.str());
        INFO("core: " << core);
        INFO("reference: " << expected);
        FAIL("core and reference differ");
    }

    Disk disk;
    Reference reference;
    std::vector<Open> open;

private:
    std::ostringstream log_;
};

// +N: N jiffies pass; s: a start; e: the end of the oldest; r: a read.
void play(Replay& replay, const std::string& steps) {
    std::istringstream in(steps);
    std::string step;
    int cpu = 0;
    while (in >> step) {
        cpu = (cpu + 1) % shim_cpus;
        if (step[0] == '+')
            replay.advance(std::stoul(step.substr(1)), 0);
        else if (step == "s")
            replay.start(cpu, 0, REQ_OP_READ, 8);
        else if (step == "e")
            replay.end(cpu, 0);
        else
            replay.read(cpu);
    }
}

struct Recorded {
    const char* what;
    const char* steps;
    // jiffies, by hand
    u64 round, sampled, elapsed, checked, exact, queue;
};

const Recorded recordings[] = {
    {"one short I/O in each jiffy, the disk nearly idle (log of 99dc422335d8)",
     "+1 s e +1 s e +1 s e +1 s e +1 s e +1 s e +1 s e +1 s e",
     0,
     8,
     8,
     0,
     0,
     0},
    {"one I/O of five jiffies (log of 2b8bd423614c)", "+100 s +5 e", 5, 2, 6, 5, 5, 5},
    {"read while a slow I/O is under way (log of 86d7331299fd)",
     "+100 s +50 r",
     50,
     1,
     51,
     50,
     50,
     50},
    {"read twice in a jiffy, and after the end", "+3 s +7 r r +2 e r +9 r", 9, 2, 10, 9, 9, 9},
    {"idle for long, then an I/O within a jiffy", "+1000 s e +1000 r", 0, 1, 1, 0, 0, 0},
    {"back to back, one at a time", "+1 s +1 e s +1 e s +1 e", 3, 4, 4, 3, 3, 3},
    {"two overlap", "+10 s +2 s +3 e +4 e", 9, 4, 9, 9, 9, 12},
    {"a start hides the time before it from elapsed", "+1 s +10 s e e", 10, 2, 2, 10, 10, 10},
    {"starts and ends in one jiffy", "s s e e s e", 0, 0, 0, 0, 0, 0},
};

constexpr tally_ticks_mode models[] = {
    TICKS_ROUND, TICKS_SAMPLED, TICKS_ELAPSED, TICKS_CHECKED, TICKS_EXACT};

} // namespace

TEST_CASE("busy time of recorded sequences") {
    for (const Recorded& r : recordings) {
        const u64 busy[] = {r.round, r.sampled, r.elapsed, r.checked, r.exact};
        for (std::size_t i = 0; i < std::size(models); ++i)
            for (auto inflight :
                 {INFLIGHT_SHARED, INFLIGHT_SPLIT, INFLIGHT_PERCPU, INFLIGHT_PERNODE}) {
                Replay replay(modes(inflight, PENDING_OFF, models[i]));
                INFO(r.what << ": " << r.steps);
                INFO(name_of(replay.disk.a.modes));
                play(replay, r.steps);
                CHECK(replay.disk.picture().busy_ms == busy[i] * 4);
                CHECK(replay.disk.picture().queue_ms ==
                      (models[i] == TICKS_ROUND ? r.queue * 4 : 0));
            }
    }
}

TEST_CASE("random sequences under every combination of modes") {
    const req_op ops[] = {
        REQ_OP_READ, REQ_OP_WRITE, REQ_OP_DISCARD, REQ_OP_WRITE_ZEROES, REQ_OP_FLUSH};
    for_each_modes([&](union tally_modes m) {
        if (m.inflight == INFLIGHT_NATIVE)
            return;
        for (unsigned seed = 1; seed <= 4; ++seed) {
            std::mt19937 random(seed);
            auto below = [&](unsigned n) { return unsigned(random() % n); };
            // Every other run passes the end of jiffies. The shadow changes nothing that is shown.
            Replay replay(seed > 2 ? shadowed(m) : m, seed % 2 ? 1000 : -40ul);
            for (int step = 0; step < 250; ++step) {
                const int cpu = int(below(shim_cpus));
                switch (below(8)) {
                case 0:
                    replay.advance(below(20) ? below(4) : below(100000), 0);
                    break;
                case 1:
                    replay.advance(below(2), below(4000000));
                    break;
                case 2:
                    replay.read(cpu);
                    break;
                case 3:
                case 4:
                    if (replay.open.size() < 6) {
                        const req_op op = ops[below(std::size(ops))];
                        replay.start(
                            cpu, int(below(bdevs)), op, op == REQ_OP_FLUSH ? 0 : 1 + below(256));
                        break;
                    }
                    [[fallthrough]];
                default:
                    if (!replay.open.empty())
                        replay.end(cpu, below(unsigned(replay.open.size())));
                }
            }
            while (!replay.open.empty())
                replay.end(int(below(shim_cpus)), 0);
            CHECK(replay.disk.picture().inflight == std::array<unsigned, 2>{});
        }
    });
}

TEST_CASE("rounding at every step makes busy time and queue time exact in jiffies") {
    // Not from the kernel's algorithm: from the intervals themselves.
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937 random(seed);
        Replay replay(modes(INFLIGHT_PERCPU, PENDING_OFF, TICKS_ROUND));
        std::vector<std::pair<u64, u64>> intervals;
        u64 queue = 0;
        for (int step = 0; step < 200; ++step) {
            replay.advance(random() % 4, 0);
            if (random() % 2 && replay.open.size() < 5) {
                replay.start(int(random() % shim_cpus), int(random() % bdevs), REQ_OP_WRITE, 1);
            } else if (!replay.open.empty()) {
                const std::size_t which = random() % replay.open.size();
                const u64 from = replay.open[which].reference.jiffy;
                intervals.emplace_back(from, u64(jiffies));
                queue += jiffies - from;
                replay.end(int(random() % shim_cpus), which);
            }
        }
        while (!replay.open.empty()) {
            intervals.emplace_back(replay.open[0].reference.jiffy, u64(jiffies));
            queue += jiffies - replay.open[0].reference.jiffy;
            replay.end(0, 0);
        }
        CHECK(replay.disk.picture().busy_ms == covered(intervals) * 4);
        CHECK(replay.disk.picture().queue_ms == queue * 4);
    }
}
