// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/engine.hpp"

#include <array>

#include <fmt/format.h>

namespace tally {
namespace {

constexpr std::array kinds{
    EngineKind{"kernel", true, [](Control *control) { return make_kernel_engine(*control); }},
    EngineKind{"psync", false, [](Control *) { return make_psync_engine(); }},
};

} // namespace

Result run_whole(const std::function<Result()> &turn, const Stop &stop) {
    Result result = turn();
    return result.interrupted && !stop.requested() ? turn() : result;
}

Cpus cpus_for(const Job &job) {
    const Cpus from = job.cpus.empty() ? allowed_cpus() : job.cpus;
    require_online(job.cpus, online_cpus());
    Cpus cpus(job.threads);
    for (std::size_t i = 0; i < cpus.size(); ++i)
        cpus[i] = from[i % from.size()];
    return cpus;
}

const EngineKind &engine_kind(const std::string &name) {
    for (const EngineKind &kind : kinds)
        if (kind.name == name)
            return kind;
    throw UsageError(
        fmt::format("engine \"{}\": must be one of {}", name, fmt::join(engine_names(), ", ")));
}

std::vector<std::string> engine_names() {
    std::vector<std::string> names;
    for (const EngineKind &kind : kinds)
        names.emplace_back(kind.name);
    return names;
}

} // namespace tally
