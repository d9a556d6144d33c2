// SPDX-License-Identifier: GPL-2.0-or-later
// tallybench experiment: the published experiments, run again.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "interrupt.hpp"
#include "measure/accuracy.hpp"
#include "measure/amount.hpp"
#include "measure/device_rig.hpp"
#include "measure/environment.hpp"
#include "measure/experiment_report.hpp"
#include "measure/file.hpp"
#include "measure/table.hpp"
#include "options.hpp"
#include "output.hpp"
#include "presets.hpp"
#include "verbs.hpp"

namespace tally::bench {
namespace {

using namespace std::chrono_literals;

struct Options {
    std::string name, engine = "both";
    Settings settings{.threads = 0, .budget = 150s};
    std::uint64_t bytes = 64ULL << 20;
    bool quick = false;
    std::optional<std::uint64_t> seed;
    JsonOption json;
};

std::vector<Preset> all_presets() {
    std::vector<Preset> presets;
    for (std::string_view text : preset_texts)
        presets.push_back(parse_preset(text, "built-in preset"));
    return presets;
}

// A built-in one by its name, or a file by its path.
Preset find_preset(const std::string &name) {
    const std::vector<Preset> presets = all_presets();
    for (const Preset &preset : presets)
        if (preset.name == name)
            return preset;
    if (const auto text = read_text(name))
        return parse_preset(*text, name);
    std::vector<std::string> names;
    for (const Preset &preset : presets)
        names.push_back(preset.name);
    throw UsageError(
        fmt::format("experiment \"{}\": must be {}, or a file", name, fmt::join(names, " or ")));
}

int list(const JsonOption &json) {
    Json document = {{"schema", "blktally/experiments/1"}, {"experiments", Json::array()}};
    Table table({"name", "title"});
    table.left(1);
    for (const Preset &preset : all_presets()) {
        table.add({preset.name, preset.title});
        document["experiments"].push_back(to_json(preset));
    }
    print(json, table.text(), document);
    return exit_ok;
}

int show(const std::string &name, const JsonOption &json) {
    const Preset preset = find_preset(name);
    print(json,
          to_text(preset),
          {{"schema", "blktally/experiments/1"}, {"experiments", {to_json(preset)}}});
    return exit_ok;
}

std::vector<std::string> chosen_engines(const std::string &engine) {
    return engine == "both" ? std::vector<std::string>{"kernel", "psync"} : std::vector{engine};
}

Settings settle(const Options &options, std::size_t engines) {
    Settings settings = options.settings;
    const Cpus cpus = settings.cpus.empty() ? allowed_cpus() : settings.cpus;
    if (settings.threads == 0)
        settings.threads =
            static_cast<std::uint32_t>(std::min<std::size_t>(cpus.size(), threads_max));
    settings.seed = seed_or_random(options.seed);
    settings.budget /= static_cast<int>(engines);
    return settings;
}

// Runs everything into the report. The rig is gone, and said so, when this returns or throws.
// False when something stayed behind.
bool measure(const Options &options, ExperimentReport &report, const Stop &stop) {
    Control control(open_control_port());
    DeviceRig rig(control, options.bytes, [&](const std::string &failure) {
        warn(report.messages, failure);
    });
    ProgressLine line;
    const Progress progress = [&](const std::string &text) { line(text); };
    for (const std::string &name : chosen_engines(options.engine)) {
        const std::unique_ptr<Engine> engine = engine_kind(name).make(&control);
        Rounds rounds = run_rounds(report.preset, report.settings, *engine, rig, stop, progress);
        report.engines.push_back({std::move(rounds), {}});
        if (stop.requested())
            break;
    }
    report.busy = run_accuracy(report.preset.accuracy, control, rig, stop, progress);
    line.clear();
    report.environment = environment(report.settings.seed); // while the peers' modules are there
    const std::vector<std::string> left = rig.close();
    for (const std::string &failure : left)
        warn(report.messages, failure);
    return left.empty();
}

// True when no I/O of any arm failed; those that did are told.
bool clean(const Rounds &rounds, std::vector<std::string> &messages) {
    bool all = true;
    for (const Series &series : rounds.series)
        if (series.errors != 0) {
            warn(messages,
                 fmt::format(
                     "{}, {}: {} I/Os failed", rounds.engine, series.arm.name, series.errors));
            all = false;
        }
    return all;
}

int run(const Options &options) {
    const std::size_t engines = chosen_engines(options.engine).size();
    ExperimentReport report{.preset = find_preset(options.name),
                            .settings = settle(options, engines)};
    require_writable(options.json);
    const Stop &stop = stop_on_signal(DeviceRig::leftovers());
    load_modules({"tally_core", "tally_ram", "tally_map", "tally_gen"});
    const std::string plan =
        options.settings.slice.count() > 0
            ? fmt::format("{} ms a turn", options.settings.slice / 1ms)
            : fmt::format("about {:.1f} min of rounds",
                          static_cast<double>(options.settings.budget / 1s) / 60.0);
    std::fprintf(stderr,
                 "tallybench: %s: %u rounds with %zu engine(s), %s, seed %llu\n",
                 report.preset.name.c_str(),
                 report.settings.rounds,
                 engines,
                 plan.c_str(),
                 static_cast<unsigned long long>(report.settings.seed));
    bool good = measure(options, report, stop);
    for (EngineOutcome &engine : report.engines) {
        engine.findings = conclude(report.preset, report.settings, engine.rounds);
        good = clean(engine.rounds, report.messages) && good;
    }
    report.signal = stop.signal();
    print(options.json, to_text(report), to_json(report));
    if (report.signal != 0)
        return exit_status(report.signal);
    return good ? exit_ok : exit_failed;
}

void setup_experiment_run(CLI::App &parent, Action &action) {
    CLI::App &verb = *parent.add_subcommand("run", "run an experiment and judge it");
    auto options = std::make_shared<Options>();
    Settings &settings = options->settings;
    verb.add_option("name", options->name, "its name, or a preset file")->required();
    std::vector<std::string> engines = engine_names();
    engines.emplace_back("both");
    verb.add_option("--engine", options->engine, "kernel, psync or both")
        ->check(CLI::IsMember(engines))
        ->capture_default_str();
    CLI::Option *rounds =
        add_count(verb, "--rounds", settings.rounds, 2, 100000, "rounds (default: 80)");
    CLI::Option *slice = verb.add_option_function<std::string>(
        "--slice",
        [&settings](const std::string &text) {
            // Milliseconds, as slices are spoken of.
            settings.slice = std::chrono::milliseconds(parse_count("--slice", text, 1, 600000));
        },
        "an arm's turn: ms, without a unit (default: what the budget allows, 20 to 400)");
    add_time(verb,
             "--budget",
             settings.budget,
             "for the rounds of all engines: seconds, or with ms or us (default: 150)");
    verb.add_flag("--quick", options->quick, "20 rounds of 100 ms")
        ->excludes(rounds)
        ->excludes(slice);
    add_count(verb, "--jobs", settings.threads, 1, threads_max, "threads (default: one per CPU)");
    add_cpus(verb, settings.cpus);
    add_fraction(verb, "--margin", settings.margin, "what counts as the same (default: 2%)");
    add_bytes(verb, "--size", options->bytes, "of each disk (default: 64M)");
    add_seed(verb, options->seed);
    add_json(verb, options->json);
    verb.callback([options, &action] {
        if (options->quick) {
            options->settings.rounds = 20;
            options->settings.slice = 100ms;
        }
        action = [options] { return run(*options); };
    });
}

} // namespace

void setup_experiment(CLI::App &app, Action &action) {
    CLI::App &verb = *app.add_subcommand("experiment", "the published experiments, run again");
    verb.require_subcommand(1);

    CLI::App &list_verb = *verb.add_subcommand("list", "which there are");
    auto list_json = std::make_shared<JsonOption>();
    add_json(list_verb, *list_json);
    list_verb.callback([list_json, &action] { action = [list_json] { return list(*list_json); }; });

    CLI::App &show_verb = *verb.add_subcommand("show", "what one is made of");
    auto show_json = std::make_shared<JsonOption>();
    auto name = std::make_shared<std::string>();
    show_verb.add_option("name", *name, "its name, or a preset file")->required();
    add_json(show_verb, *show_json);
    show_verb.callback([name, show_json, &action] {
        action = [name, show_json] { return show(*name, *show_json); };
    });

    setup_experiment_run(verb, action);
}

} // namespace tally::bench
