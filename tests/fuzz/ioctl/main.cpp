// SPDX-License-Identifier: GPL-2.0-or-later
// Calls /dev/blktally/control with requests that are valid, nearly valid and hostile, while others
// use the disks. For virtual machines, as root, with all modules loaded and no disk of ours.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <getopt.h>

#include "caller.hpp"
#include "counts.hpp"
#include "setting.hpp"

using namespace fuzz;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds PROGRESS{20};

constexpr const char* USAGE =
    "usage: tally-ioctl-fuzz [--seed N] [--calls N] [--seconds N] [--callers N]\n"
    "exit status: 0 nothing wrong, 1 a fault (also with fewer than some 10,000 calls, which\n"
    "do not reach every error), 2 wrong usage or setting\n";

struct Options {
    uint64_t seed =
        static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    int64_t calls = 100'000;
    double seconds = 1e9;
    unsigned callers = 5;
};

bool parse(int argc, char** argv, Options& o) {
    static constexpr option names[] = {{"seed", required_argument, nullptr, 's'},
                                       {"calls", required_argument, nullptr, 'c'},
                                       {"seconds", required_argument, nullptr, 't'},
                                       {"callers", required_argument, nullptr, 'n'},
                                       {}};
    for (int c; (c = ::getopt_long(argc, argv, "", names, nullptr)) != -1;) {
        if (c == '?')
            return false;
        size_t used = 0;
        const std::string text = optarg;
        const auto number = std::stoull(text, &used);
        if (used != text.size() || text[0] == '-')
            return false;
        switch (c) {
        case 's':
            o.seed = number;
            break;
        case 'c':
            o.calls = static_cast<int64_t>(number);
            break;
        case 't':
            o.seconds = static_cast<double>(number);
            break;
        default:
            o.callers = static_cast<unsigned>(number);
        }
    }
    return optind == argc && o.calls > 0 && o.callers > 0 && o.callers <= 64;
}

void work(const World& world, const Options& o) {
    const auto end = Clock::now() + std::chrono::duration<double>(o.seconds);
    std::atomic<int64_t> left{o.calls};
    Random seeds(o.seed);
    Racer racer;
    std::vector<std::unique_ptr<Caller>> callers;
    Activity visits[2];
    std::vector<const Activity*> all{&visits[0], &visits[1]};
    for (unsigned n = 0; n < o.callers; n++) {
        callers.push_back(std::make_unique<Caller>(world, racer, seeds.next()));
        all.push_back(&callers.back()->activity());
    }

    // In this order: who is waited for first must go on while the others wait.
    std::jthread watcher(watch, std::cref(all));
    std::jthread rescuer(rescue, std::cref(world), std::cref(all));
    std::jthread racing([&](std::stop_token stop) { racer.run(stop); });
    std::jthread visitor(visit, std::cref(world), false, seeds.next(), std::ref(visits[0]));
    std::jthread patient(visit, std::cref(world), true, seeds.next(), std::ref(visits[1]));
    std::vector<std::thread> calling;
    std::vector<pthread_t> ids;
    for (auto& caller : callers) {
        calling.emplace_back([&] {
            while (left-- > 0 && Clock::now() < end)
                caller->one_call();
        });
        ids.push_back(calling.back().native_handle());
    }
    {
        std::jthread signals(send_signals, std::cref(ids), seeds.next());
        // The signaller needs threads that can still be asked for: it goes before they do.
        const auto begin = Clock::now();
        auto next = begin + PROGRESS;
        while (left > 0 && Clock::now() < end) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            if (Clock::now() < next)
                continue;
            std::printf("after %.0f s: %llu calls\n",
                        std::chrono::duration<double>(Clock::now() - begin).count(),
                        static_cast<unsigned long long>(world.counts.calls()));
            std::fflush(stdout);
            next += PROGRESS;
        }
    }
    for (auto& thread : calling)
        thread.join();
}

// Everything that was made can be removed, without force.
void clear_away(const World& w) {
    const auto end = Clock::now() + std::chrono::seconds(60);
    const auto rest = w.model.refresh();
    const auto made = [&](unsigned add, unsigned remove) {
        return w.counts.of(command(add), 0) - w.counts.of(command(remove), 0);
    };
    if (made(TALLY_RAM_ADD, TALLY_RAM_REMOVE) != w.model.count(TALLY_KIND_RAM) ||
        made(TALLY_MAP_CREATE, TALLY_MAP_REMOVE) != w.model.count(TALLY_KIND_MAP))
        w.counts.complain("LIST shows other disks than were made and not removed");
    for (auto left = rest; !left.empty(); left = w.model.refresh()) {
        for (const Disk& d : left) {
            if (d.kind == TALLY_KIND_MAP) {
                w.model.map_op(TALLY_MAP_CLEAR, d);
                w.model.map_op(TALLY_MAP_RESUME, d);
                w.model.map_op(TALLY_MAP_REMOVE, d);
            } else {
                tally_ram_remove remove{};
                remove.ref = ref_of(d);
                w.model.call(TALLY_RAM_REMOVE, &remove, sizeof(remove));
            }
        }
        if (Clock::now() > end) {
            w.counts.complain("cannot be removed: " + left.front().name);
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

void check_references(Counts& counts, const std::string& module, int wanted) {
    const auto end = Clock::now() + std::chrono::seconds(30);
    int now;
    while ((now = references(module)) != wanted && Clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (now != wanted)
        counts.complain(module + ": " + std::to_string(now) + " references are left, wanted " +
                        std::to_string(wanted));
}

int run(const Options& o) {
    Counts counts;
    const int core = references("tally_core");
    const auto begin = Clock::now();
    {
        // Removals wait for RCU, and for nothing else worth waiting for; no process is to start
        // whenever a disk that is not there is asked for.
        const Override expedited("/sys/kernel/rcu_expedited", "1");
        const Override modprobe("/proc/sys/kernel/modprobe", "\n");
        const tally::Fd control = tally::Fd::open("/dev/blktally/control", O_RDWR);
        const tally::Fd character = tally::Fd::open("/dev/null", O_RDWR);
        const Foreign foreign;
        Model model(control.get());
        if (!model.refresh().empty()) {
            std::fprintf(stderr, "tally-ioctl-fuzz: there are disks of ours: they would suffer\n");
            return 2;
        }
        const World world{model, counts, control.get(), character.get(), foreign.disk()};
        work(world, o);
        clear_away(world);
    }
    for (const char* module : {"tally_gen", "tally_map", "tally_ram"})
        check_references(counts, module, 0);
    check_references(counts, "tally_core", core);
    const std::chrono::duration<double> took = Clock::now() - begin;
    std::printf(
        "%llu calls in %.1f s\n", static_cast<unsigned long long>(counts.calls()), took.count());
    return counts.report() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    try {
        Options o;
        if (!parse(argc, argv, o)) {
            std::fputs(USAGE, stderr);
            return 2;
        }
        std::printf("seed %llu\n", static_cast<unsigned long long>(o.seed));
        std::fflush(stdout);
        struct sigaction nothing {};
        nothing.sa_handler = [](int) {};
        ::sigaction(SIGUSR1, &nothing, nullptr);
        return run(o);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "tally-ioctl-fuzz: %s\n", e.what());
        return 2;
    }
}
