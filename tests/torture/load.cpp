// SPDX-License-Identifier: GPL-2.0-or-later
// Reads by the kernel's own threads. Not of devices whose I/Os are compared with what was issued.
#include <cerrno>

#include <fcntl.h>

#include "run.hpp"

namespace tally::torture {

void load(Run& run, Random random) {
    Control control(open_control_port());
    std::vector<Device*> maps;
    for (Device* map : run.rig.maps())
        if (!map->counted)
            maps.push_back(map);

    while (!run.report.stopped()) {
        Device& map = *maps[random.below(maps.size())];
        GenJob job;
        const Fd fd = Fd::open(map.node(), O_RDONLY | O_DIRECT);
        job.fd = fd.get();
        job.threads = load_threads;
        job.depth = load_depth;
        job.block_bytes = 512U << random.below(8);
        job.duration = std::chrono::milliseconds(50 + random.below(200));
        job.seed = random.next();
        job.random = random.below(2) == 0;
        try {
            Activity::mine().doing("a run of tally_gen on", map.name.c_str());
            const GenResult result = control.gen_run(job);
            if (result.total.errors != 0)
                run.report.fail(map.name + ": tally_gen: " + std::to_string(result.total.errors) +
                                " errors, the first " + std::to_string(result.total.error));
            run.report.add(Count::load_ios, result.total.ios);
        } catch (const CommandError& error) {
            // A CPU that was chosen has just gone.
            if (error.code().value() != EINVAL || !run.options.hotplug)
                throw;
        }
        nap(random.below(300));
    }
}

} // namespace tally::torture
