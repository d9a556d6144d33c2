// SPDX-License-Identifier: GPL-2.0-or-later
// tallybench cost: what one I/O costs, with gates.
#include <algorithm>
#include <memory>

#include "interrupt.hpp"
#include "measure/cost_report.hpp"
#include "measure/device_rig.hpp"
#include "measure/environment.hpp"
#include "measure/instructions.hpp"
#include "options.hpp"
#include "output.hpp"
#include "verbs.hpp"

namespace tally::bench {
namespace {

struct Options {
    CostSettings settings;
    std::uint64_t bytes = 16ULL << 20;
    bool icount = false, check = false;
    Cpus cpus;
    std::optional<std::uint64_t> seed;
    JsonOption json;
};

// False when something stayed behind.
bool measure(const Options &options, CostReport &report, const Stop &stop) {
    Control control(open_control_port());
    DeviceRig rig(control, options.bytes, [&](const std::string &failure) {
        warn(report.messages, failure);
    });
    std::vector<std::unique_ptr<Engine>> owned;
    Engines engines;
    for (const std::string &name : engine_names()) {
        owned.push_back(engine_kind(name).make(&control));
        engines[name] = owned.back().get();
    }
    ProgressLine line;
    report.figures = measure_cost(
        report.settings, engines, rig, stop, [&](const std::string &text) { line(text); });
    line.clear();
    report.environment = environment(report.settings.seed); // while the peers' modules are there
    const std::vector<std::string> left = rig.close();
    for (const std::string &failure : left)
        warn(report.messages, failure);
    return left.empty();
}

// A gate that could not be judged has not been passed.
int verdict(const std::vector<GateFigures> &gates) {
    const auto any = [&](GateOutcome outcome) {
        return std::any_of(
            gates.begin(), gates.end(), [&](const GateFigures &g) { return g.outcome == outcome; });
    };
    return any(GateOutcome::over)       ? exit_regression
           : any(GateOutcome::unjudged) ? exit_skipped
                                        : exit_ok;
}

int run(Options &options) {
    CostReport report{.settings = options.settings};
    CostSettings &settings = report.settings;
    settings.seed = seed_or_random(options.seed);
    settings.cpu = (options.cpus.empty() ? allowed_cpus() : options.cpus).front();
    const bool counts = measure_instruction_clock().counts() && online_cpus().size() == 1;
    settings.instructions = counts || options.icount;
    if (options.icount && !counts)
        warn(report.messages,
             "--icount: the clock here does not count instructions by our measure");

    require_writable(options.json);
    const Stop &stop = stop_on_signal(DeviceRig::leftovers());
    load_modules({"tally_core", "tally_ram", "tally_map", "tally_gen"});
    const bool clean = measure(options, report, stop);
    report.gates = judge_cost(report.figures, settings.instructions);
    report.signal = stop.signal();
    print(options.json, to_text(report), to_json(report));
    if (report.signal != 0)
        return exit_status(report.signal);
    if (!clean)
        return exit_failed;
    return options.check ? verdict(report.gates) : exit_ok;
}

} // namespace

void setup_cost(CLI::App &app, Action &action) {
    CLI::App &verb =
        *app.add_subcommand("cost", "what one I/O costs: instructions under icount, else ns");
    auto options = std::make_shared<Options>();
    CostSettings &settings = options->settings;
    constexpr std::uint64_t many = 1000000000;
    add_count(verb, "--ios", settings.ios, 1, many, "I/Os per repeat (default: 20000)");
    add_count(verb, "--warm-up", settings.warm_up, 1, many, "I/Os before each (default: 2000)");
    add_count(verb, "--repeats", settings.repeats, 1, 1000, "repeats (default: 3)");
    add_cpus(verb, options->cpus);
    add_bytes(verb, "--size", options->bytes, "of each disk (default: 16M)");
    add_seed(verb, options->seed);
    verb.add_flag(
        "--icount", options->icount, "take a nanosecond for an instruction, whatever is measured");
    verb.add_flag("--check",
                  options->check,
                  "end with 5 when a gate is missed, 77 when one cannot be judged");
    add_json(verb, options->json);
    verb.callback([options, &action] { action = [options] { return run(*options); }; });
}

} // namespace tally::bench
