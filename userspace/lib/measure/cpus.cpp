// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/cpus.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <sched.h>

#include "measure/file.hpp"
#include "measure/job.hpp"

namespace tally {
namespace {

constexpr std::uint32_t cpu_limit = 8192; // the kernel's largest NR_CPUS

std::optional<std::uint32_t> take_number(std::string_view &text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value >= cpu_limit)
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

} // namespace

Cpus parse_cpus(std::string_view text) {
    const auto refuse = [&] {
        return UsageError(
            fmt::format("CPU list \"{}\": must be numbers below {} and rising ranges, as \"0-3,8\"",
                        text,
                        cpu_limit));
    };
    Cpus cpus;
    std::vector<bool> listed(cpu_limit); // a search in cpus takes seconds for "0-8191,0-8191,…"
    for (std::string_view rest = text;;) {
        const auto first = take_number(rest);
        if (!first)
            throw refuse();
        auto last = first;
        if (rest.starts_with('-')) {
            rest.remove_prefix(1);
            last = take_number(rest);
        }
        if (!last || *last < *first)
            throw refuse();
        for (std::uint32_t cpu = *first; cpu <= *last; ++cpu)
            if (!listed[cpu]) {
                listed[cpu] = true;
                cpus.push_back(cpu);
            }
        if (rest.empty())
            return cpus;
        if (!rest.starts_with(','))
            throw refuse();
        rest.remove_prefix(1);
    }
}

std::string format_cpus(const Cpus &cpus) {
    std::string text;
    for (std::size_t first = 0; first < cpus.size();) {
        std::size_t last = first;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1)
            ++last;
        text += text.empty() ? "" : ",";
        text += last == first ? fmt::format("{}", cpus[first])
                              : fmt::format("{}-{}", cpus[first], cpus[last]);
        first = last + 1;
    }
    return text;
}

Cpus online_cpus() {
    if (const auto text = read_text("/sys/devices/system/cpu/online"); text && !text->empty())
        return parse_cpus(*text);
    return allowed_cpus();
}

Cpus allowed_cpus() {
    // The kernel refuses a mask shorter than its own; a fixed cpu_set_t ends at CPU 1023.
    const std::size_t size = CPU_ALLOC_SIZE(cpu_limit);
    std::vector<cpu_set_t> mask(size / sizeof(cpu_set_t) + 1);
    if (sched_getaffinity(0, size, mask.data()) != 0)
        throw std::system_error(errno, std::generic_category(), "sched_getaffinity");
    Cpus cpus;
    for (std::uint32_t cpu = 0; cpu < cpu_limit; ++cpu)
        if (CPU_ISSET_S(cpu, size, mask.data()))
            cpus.push_back(cpu);
    return cpus;
}

void require_online(const Cpus &cpus, const Cpus &online) {
    for (std::uint32_t cpu : cpus)
        if (std::find(online.begin(), online.end(), cpu) == online.end())
            throw UsageError(
                fmt::format("CPU {} is not on line: {} are", cpu, format_cpus(online)));
}

} // namespace tally
