// SPDX-License-Identifier: GPL-2.0-or-later
// Other devices come and go: each is used once, by reads of what must be zeroes.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include <fcntl.h>
#include <unistd.h>

#include "blktally/device.hpp"
#include "blktally/error.hpp"
#include "run.hpp"

namespace tally::torture {
namespace {

constexpr const char* stores[] = {"flat", "sparse"};
constexpr const char* completions[] = {"inline", "softirq", "timer"};

class Churn {
public:
    Churn(Run& run, Random random)
        : run_(run), random_(random), control_(open_control_port()),
          page_(static_cast<unsigned char*>(std::aligned_alloc(page_bytes, page_bytes)),
                &std::free) {}

    void work() {
        for (unsigned turn = 0; !run_.report.stopped(); ++turn) {
            one("churn-" + std::to_string(turn));
            nap(random_.below(100));
        }
    }

private:
    static constexpr std::size_t page_bytes = 4096;

    void one(const std::string& name) {
        RamOptions options;
        options.name = name;
        options.store = stores[random_.below(std::size(stores))];
        options.queue = random_.below(2) == 0 ? "bio" : "mq";
        if (options.queue == "mq") {
            options.submit_queues = static_cast<std::uint32_t>(1 + random_.below(2));
            options.poll_queues = static_cast<std::uint32_t>(random_.below(2));
            options.depth = static_cast<std::uint32_t>(1 + random_.below(64));
            options.shared_tags = random_.below(2) == 0;
        }
        options.completion = completions[random_.below(std::size(completions))];
        options.sectors = 8 * (1 + random_.below(256));
        options.block_size = 512U << random_.below(4);
        Activity::mine().doing("a RAM disk is added");
        const Created ram = control_.ram_add(options);
        refuse_twice(options);
        read_zeroes(ram);
        if (random_.below(2) == 0)
            map_over(name, ram, options.sectors);
        Activity::mine().doing("a RAM disk is removed");
        patiently([&] { control_.ram_remove({name, {}}, false); });
        run_.report.add(Count::churned);
    }

    void map_over(const std::string& name, const Created& ram, std::uint64_t sectors) {
        const DiskRef map{name + "-map", {}};
        Activity::mine().doing("a map is created");
        const Created created = control_.map_create(map.name, "uuid-" + map.name, "", false);
        control_.map_load(
            map, "0 " + std::to_string(sectors) + " linear " + to_string(ram.number) + " 0", false);
        if (random_.below(4) != 0) {
            // While udevd has it open its blocks may not grow.
            patiently([&] { control_.map_resume(map); });
            read_zeroes(created);
        }
        Activity::mine().doing("a map is removed");
        patiently([&] { control_.map_remove(map); });
        run_.report.add(Count::churned);
    }

    void refuse_twice(const RamOptions& options) {
        try {
            control_.ram_add(options);
            run_.report.fail("two disks by the name of " + options.name);
        } catch (const CommandError& error) {
            if (error.code().value() != EEXIST)
                throw;
        }
    }

    void read_zeroes(const Created& disk) {
        Activity::mine().doing("a read of a new device");
        const Fd fd = Fd::open("/dev/" + disk.disk, O_RDONLY | O_DIRECT);
        std::fill_n(page_.get(), page_bytes, static_cast<unsigned char>(0xa5));
        const ssize_t got = pread(fd.get(), page_.get(), page_bytes, 0);
        if (got != static_cast<ssize_t>(page_bytes))
            throw errno_error(got < 0 ? errno : EIO, disk.disk);
        if (std::any_of(page_.get(), page_.get() + page_bytes, [](auto byte) { return byte; }))
            run_.report.fail(disk.disk + ": is new, and not all zeroes");
    }

    Run& run_;
    Random random_;
    Control control_;
    std::unique_ptr<unsigned char, void (*)(void*)> page_;
};

} // namespace

void churn(Run& run, Random random) { Churn(run, random).work(); }

} // namespace tally::torture
