// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/run_report.hpp"

#include <system_error>

#include <fmt/format.h>

#include "measure/table.hpp"

namespace tally {
namespace {

// fio's names and units: runtime in ms, bandwidth in bytes.
Json direction(const Count &count) {
    return {{"io_bytes", count.bytes},
            {"bw_bytes", number(bytes_per_second(count))},
            {"iops", number(iops(count))},
            {"runtime", number(static_cast<double>(count.ns) / 1e6)},
            {"total_ios", count.ios},
            {"short_ios", 0},
            {"drop_ios", 0}};
}

Json job_json(const std::string &name, const Count &count, bool write) {
    const Json done = direction(count), nothing = direction({});
    return {{"jobname", name},
            {"cpu", count.cpu},
            {"error", count.error < 0 ? -count.error : count.error},
            {"total_err", count.errors},
            {"ns", count.ns},
            {"read", write ? nothing : done},
            {"write", write ? done : nothing}};
}

std::string error_text(const Count &count) {
    return count.error == 0 ? "" : std::generic_category().message(std::abs(count.error));
}

const char *pattern(const Job &job) {
    return job.write ? (job.random ? "randwrite" : "write") : (job.random ? "randread" : "read");
}

} // namespace

Json to_json(const RunReport &report) {
    const Job &job = report.job;
    Json jobs = Json::array();
    for (const Count &count : report.result.threads)
        jobs.push_back(job_json(fmt::format("job{}", jobs.size()), count, job.write));
    return {{"schema", "blktally/run/1"},
            {"partial", report.partial()},
            {"signal", report.signal},
            {"options",
             {{"engine", report.engine},
              {"device", job.device},
              {"rw", pattern(job)},
              {"bs", job.block_bytes},
              {"depth", job.depth},
              {"jobs", job.threads},
              {"cpus", job.cpus},
              {"runtime_ns", job.duration.count()},
              {"ios", job.ios},
              {"offset", job.offset},
              {"size", job.size},
              {"seed", job.seed}}},
            {"environment", report.environment},
            {"jobs", std::move(jobs)},
            {"total", job_json("total", report.result.total, job.write)},
            {"messages", report.messages}};
}

std::string to_text(const RunReport &report) {
    Table table({"job", "CPU", "I/Os", "IOPS", "MiB/s", "ms", "errors", ""});
    table.left(7);
    const auto add = [&](const std::string &name, const std::string &cpu, const Count &count) {
        table.add({name,
                   cpu,
                   fmt::format("{}", count.ios),
                   fixed(iops(count), 0),
                   fixed(bytes_per_second(count) / (1 << 20), 1),
                   fixed(static_cast<double>(count.ns) / 1e6, 1),
                   fmt::format("{}", count.errors),
                   error_text(count)});
    };
    for (std::size_t i = 0; i < report.result.threads.size(); ++i)
        add(fmt::format("{}", i),
            fmt::format("{}", report.result.threads[i].cpu),
            report.result.threads[i]);
    add("total", "", report.result.total);
    std::string text = fmt::format("{} {} {} bs={} depth={}\n",
                                   report.job.device,
                                   report.engine,
                                   pattern(report.job),
                                   report.job.block_bytes,
                                   report.job.depth);
    if (report.environment["emulated"].get<bool>())
        text += "EMULATED (QEMU without KVM): times say nothing about hardware\n";
    if (report.signal != 0)
        text += fmt::format("PARTIAL: ended by signal {}\n", report.signal);
    else if (report.partial())
        text += "PARTIAL: interrupted\n";
    return text + table.text();
}

} // namespace tally
