// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/perf_counters.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tally {
namespace {

// A CPU rather than a task: the load may be a kernel thread.
File open_counter(std::uint32_t cpu, std::uint64_t event) {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof attributes;
    attributes.config = event;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const long fd = syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return File(static_cast<int>(fd)); // -1: not here
}

std::optional<std::uint64_t> value(const File &file) {
    struct {
        std::uint64_t count, enabled, running;
    } counter{};
    if (file.get() < 0 || ::read(file.get(), &counter, sizeof counter) != sizeof counter)
        return std::nullopt;
    // One that shared its hardware with others did not see everything.
    if (counter.running < counter.enabled)
        return std::nullopt;
    return counter.count;
}

} // namespace

PerfCounters::PerfCounters(std::uint32_t cpu)
    : cycles_(open_counter(cpu, PERF_COUNT_HW_CPU_CYCLES)),
      instructions_(open_counter(cpu, PERF_COUNT_HW_INSTRUCTIONS)) {}

PerfCounters::Values PerfCounters::read() const { return {value(cycles_), value(instructions_)}; }

} // namespace tally
