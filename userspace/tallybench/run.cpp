// SPDX-License-Identifier: GPL-2.0-or-later
// tallybench run: one job.
#include <limits>
#include <memory>
#include <optional>

#include "interrupt.hpp"
#include "measure/engine.hpp"
#include "measure/environment.hpp"
#include "measure/run_report.hpp"
#include "options.hpp"
#include "output.hpp"
#include "verbs.hpp"

namespace tally::bench {
namespace {

struct Options {
    Job job;
    std::string engine = "psync", rw = "read";
    std::uint64_t block_bytes = 512;
    std::optional<std::uint64_t> seed;
    JsonOption json;
};

int run(Options &options) {
    Job &job = options.job;
    job.block_bytes = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(options.block_bytes, std::numeric_limits<std::uint32_t>::max()));
    job.write = options.rw.ends_with("write");
    job.random = options.rw.starts_with("rand");
    job.seed = seed_or_random(options.seed);
    if (job.ios == 0 && job.duration.count() == 0)
        job.duration = std::chrono::seconds(5);
    check(job);
    require_writable(options.json);

    const EngineKind &kind = engine_kind(options.engine);
    std::optional<Control> control;
    if (kind.needs_control) {
        load_modules({"tally_core", "tally_gen"});
        control.emplace(open_control_port());
    }
    const std::unique_ptr<Engine> engine = kind.make(control ? &*control : nullptr);
    const Stop &stop = stop_on_signal();

    RunReport report{.engine = options.engine, .job = job};
    report.environment = environment(job.seed);
    int turns = 0;
    report.result = run_whole(
        [&] {
            ++turns;
            return engine->run(job, stop);
        },
        stop);
    report.signal = stop.signal();
    const Count &total = report.result.total;
    if (total.errors != 0)
        warn(report.messages,
             job.device +
                 ": I/O failed: " + std::generic_category().message(std::abs(total.error)));
    if (total.ios == 0 && !report.partial() && total.errors == 0)
        warn(report.messages, "the run was too short for one I/O");
    if (turns > 1)
        warn(report.messages,
             "the run was stopped on its way and began anew: the device did more than is told here");
    const bool interrupted = report.signal == 0 && report.result.interrupted;
    if (interrupted)
        warn(report.messages, "the run was interrupted before its end");
    print(options.json, to_text(report), to_json(report));
    if (report.signal != 0)
        return exit_status(report.signal);
    return total.errors == 0 && !interrupted ? exit_ok : exit_failed;
}

} // namespace

void setup_run(CLI::App &app, Action &action) {
    CLI::App &verb = *app.add_subcommand("run", "run one job and report what it did");
    auto options = std::make_shared<Options>();
    Job &job = options->job;
    constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
    verb.add_option("--engine", options->engine, "kernel or psync")
        ->check(CLI::IsMember(engine_names()))
        ->capture_default_str();
    verb.add_option("--device", job.device, "block device or file")->required();
    add_bytes(verb, "--bs", options->block_bytes, "block size (default: 512)");
    verb.add_option("--rw", options->rw, "what to do")
        ->check(CLI::IsMember({"read", "randread", "write", "randwrite"}))
        ->capture_default_str();
    add_count(verb, "--depth", job.depth, 1, depth_max, "I/Os in flight per job (default: 1)");
    add_count(verb, "--jobs", job.threads, 1, threads_max, "threads (default: 1)");
    add_cpus(verb, job.cpus);
    add_time(verb, "--runtime", job.duration, "how long: seconds, or with ms or us (default: 5)");
    add_count(verb, "--ios", job.ios, 1, unlimited, "I/Os per job");
    add_bytes(verb, "--offset", job.offset, "where to begin (default: 0)");
    add_bytes(verb, "--size", job.size, "how much of the device to use (default: all)");
    add_seed(verb, options->seed);
    verb.add_flag(
        "--force-device", job.force, "write to a disk that is not ours (never to a held one)");
    add_json(verb, options->json);
    verb.callback([options, &action] { action = [options] { return run(*options); }; });
}

} // namespace tally::bench
