// SPDX-License-Identifier: GPL-2.0-or-later
#include "neighbours.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <sys/uio.h>
#include <unistd.h>

#include "counts.hpp"
#include "setting.hpp"

namespace fuzz {

namespace {

using namespace std::chrono_literals;

constexpr auto LONG = 300ms;
constexpr auto HANGS = 60s;
constexpr size_t BLOCK = 4096;

void use(const World& w, const Disk& d, bool patient, Random& random, Activity& activity) {
    alignas(BLOCK) static thread_local uint8_t block[BLOCK];
    const bool map = d.kind == TALLY_KIND_MAP, write = !d.readonly() && random.percent(50);
    const tally::Fd fd(::open(d.node().c_str(),
                              (write ? O_RDWR : O_RDONLY) | (random.percent(15) ? O_EXCL : 0) |
                                  O_NONBLOCK | O_DIRECT | O_CLOEXEC));
    if (!fd)
        return;
    iovec vec{block, BLOCK};
    const int flags = map && !patient ? RWF_NOWAIT : 0;
    for (uint64_t n = random.below(4); n--;) {
        const auto at = static_cast<off_t>(BLOCK * random.below(d.sectors / 8 + 1));
        activity.begin("I/O of a visitor");
        if (write && random.percent(50))
            (void)!::pwritev2(fd.get(), &vec, 1, at, flags);
        else
            (void)!::preadv2(fd.get(), &vec, 1, at, flags);
        activity.end();
    }
    if (random.percent(30))
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(3000)));
    w.model.all(); // a moment under a lock that callers want
}

void read_sysfs(const Disk& d, Random& random) {
    static constexpr const char* files[] = {"inflight",
                                            "stat",
                                            "profile",
                                            "profiles",
                                            "effective",
                                            "switches",
                                            "name",
                                            "uuid",
                                            "mode_inflight",
                                            "mode_pending",
                                            "mode_ticks",
                                            "mode_clock",
                                            "../stat",
                                            "../size",
                                            "../queue/logical_block_size"};
    read_line("/sys/block/" + d.disk + "/tally/" + random.pick(files));
}

void store_sysfs(const World& w, const Disk& d, Random& random, Activity& activity) {
    static constexpr const char* files[] = {
        "profile", "mode_inflight", "mode_pending", "mode_ticks", "mode_clock"};
    static const std::string words[] = {"none",
                                        "none\n",
                                        "linux-4.20",
                                        "linux-6.10\n",
                                        "native",
                                        "custom",
                                        "off",
                                        "off\n",
                                        "ns",
                                        "jiffies",
                                        "percpu",
                                        "exact",
                                        "",
                                        "\n",
                                        "\n\n",
                                        " none",
                                        "none ",
                                        "none none",
                                        std::string("none\0", 5),
                                        std::string("no\0ne", 5),
                                        std::string("\0\0\0", 3),
                                        std::string(15, 'a'),
                                        std::string(16, 'a'),
                                        std::string(31, 'a'),
                                        std::string(32, 'a'),
                                        std::string(4096, 'n'),
                                        std::string(5000, 'n'),
                                        "%s%n%n",
                                        "\xff\xff",
                                        "NONE"};
    const tally::Fd fd(::open(("/sys/block/" + d.disk + "/tally/" + random.pick(files)).c_str(),
                              O_WRONLY | O_CLOEXEC));
    if (!fd)
        return; // gone
    const std::string& word = random.pick(words);
    const Unprivileged here(random.percent(10));
    activity.begin("store into sysfs");
    // Nothing to store is no store: the file's own code does not see it.
    const bool stored = ::write(fd.get(), word.data(), word.size()) >= 0;
    const int error = stored ? 0 : errno;
    activity.end();
    if (!word.empty())
        w.counts.add_store(error);
}

} // namespace

void Racer::run(std::stop_token stop) {
    const std::stop_callback wake(stop, [this] {
        at_ = &nothing_;
        at_.notify_one();
    });
    while (!stop.stop_requested()) {
        at_.wait(nullptr); // polling would cost more than what we are here for
        volatile uint8_t* at = at_;
        if (!at || stop.stop_requested())
            continue;
        busy_ = true;
        while (at_ == at) {
            *at = values_[1];
            *at = values_[0];
        }
        busy_ = false;
    }
}

void Racer::race(uint8_t* at, uint8_t other, const std::function<void()>& call) {
    std::lock_guard guard(one_);
    values_[0] = *at;
    values_[1] = other;
    at_ = at;
    at_.notify_one();
    while (!busy_)
        ::sched_yield();
    call();
    at_ = nullptr;
    while (busy_)
        ::sched_yield();
}

void visit(
    std::stop_token stop, const World& world, bool patient, uint64_t seed, Activity& activity) {
    Random random(seed);
    auto took = std::chrono::steady_clock::duration::zero();
    while (!stop.stop_requested()) {
        // Most of the time is for those whose calls are counted.
        std::this_thread::sleep_for(std::chrono::microseconds(2000 + random.below(4000)) +
                                    4 * took);
        const auto begin = std::chrono::steady_clock::now();
        const auto d = world.model.pick(random, patient ? TALLY_KIND_MAP : TALLY_KIND_ANY);
        if (!d)
            continue;
        if (patient || random.percent(50))
            use(world, *d, patient, random, activity);
        else if (random.percent(50))
            read_sysfs(*d, random);
        else
            store_sysfs(world, *d, random, activity);
        took = std::min<std::chrono::steady_clock::duration>(
            std::chrono::steady_clock::now() - begin, 20ms);
    }
}

void send_signals(std::stop_token stop, const std::vector<pthread_t>& callers, uint64_t seed) {
    Random random(seed);
    while (!stop.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::microseconds(2000 + random.below(16000)));
        ::pthread_kill(random.pick(callers), SIGUSR1);
    }
}

void rescue(std::stop_token stop, const World& world, const std::vector<const Activity*>& all) {
    while (!stop.stop_requested()) {
        std::this_thread::sleep_for(LONG / 2);
        bool late = false;
        for (const Activity* a : all)
            late |= a->age() > LONG;
        if (!late)
            continue;
        for (const Disk& d : world.model.refresh()) {
            if (!d.is(TALLY_DISK_SUSPENDED) || !d.is(TALLY_DISK_LIVE))
                continue;
            // The inactive table may be one that cannot become live.
            world.model.map_op(TALLY_MAP_CLEAR, d);
            world.model.map_op(TALLY_MAP_RESUME, d);
        }
    }
}

void watch(std::stop_token stop, const std::vector<const Activity*>& all) {
    while (!stop.stop_requested()) {
        std::this_thread::sleep_for(200ms);
        for (const Activity* a : all) {
            if (a->age() < HANGS)
                continue;
            std::printf("FAULT: hangs for %.0f s: ", a->age().count());
            for (const Activity* other : all)
                if (other->age() > LONG)
                    other->print();
            write_file("/proc/sysrq-trigger", "w");
            std::abort();
        }
    }
}

} // namespace fuzz
