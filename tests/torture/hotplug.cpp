// SPDX-License-Identifier: GPL-2.0-or-later
// CPU 1 goes off line and comes back: what counts per CPU is begun here and ended there.
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "blktally/error.hpp"
#include "run.hpp"

namespace tally::torture {
namespace {

constexpr const char* online = "/sys/devices/system/cpu/cpu1/online";

// The kernel may refuse to take a CPU away for a while (EBUSY).
bool set_online(bool on) {
    const Fd fd = Fd::open(online, O_WRONLY);
    if (write(fd.get(), on ? "1" : "0", 1) == 1)
        return true;
    if (errno != EBUSY)
        throw errno_error(errno, online);
    return false;
}

void put_online() {
    for (int attempt = 0; attempt < 100 && !set_online(true); ++attempt)
        nap(50);
}

} // namespace

void plug(Run& run, Random random) {
    if (access(online, W_OK) != 0)
        return; // there is nothing to count, and the minimum is not met
    try {
        while (!run.report.stopped()) {
            {
                const Timed timed(run.report, Span::hotplug, "CPU 1 off line");
                if (!set_online(false))
                    continue;
            }
            nap(random.below(300));
            {
                const Timed timed(run.report, Span::hotplug, "CPU 1 on line");
                put_online();
            }
            run.report.add(Count::hotplugs);
            nap(100 + random.below(600));
        }
    } catch (...) {
        put_online();
        throw;
    }
}

} // namespace tally::torture
