// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/experiment_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "measure/table.hpp"

namespace tally {
namespace {

using namespace std::chrono_literals;

double seconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

Json to_json(const Modes &modes) {
    return {{"inflight", modes.inflight},
            {"pending", modes.pending},
            {"ticks", modes.ticks},
            {"clock", modes.clock}};
}

Json to_json(const Judgement &j) {
    return {{"name", j.name},
            {"arm", j.arm},
            {"against", j.against},
            {"rounds", j.rounds},
            {"ratio", number(j.ratio)},
            {"interval", pair(j.interval)},
            {"resolution", number(j.resolution)},
            {"p", number(j.p)},
            {"p_adjusted", number(j.adjusted)},
            {"verdict", word(j.verdict)}};
}

Json to_json(const std::vector<Judgement> &judgements) {
    Json list = Json::array();
    for (const Judgement &judgement : judgements)
        list.push_back(to_json(judgement));
    return list;
}

Json to_json(const Series &series, const ArmFigures &figures) {
    Json raw = Json::array();
    for (double value : series.iops)
        raw.push_back(number(value));
    return {{"name", series.arm.name},
            {"device", series.arm.device},
            {"profile", series.arm.profile},
            {"modes", to_json(series.arm.modes)},
            {"lower", series.arm.lower},
            {"threads", series.arm.threads},
            {"missing", series.missing.empty() ? Json(nullptr) : Json(series.missing)},
            {"iops", number(figures.iops)},
            {"ns_per_io", number(figures.ns)},
            {"variation", number(figures.variation)},
            {"drift", number(figures.drift)},
            {"drift_p", number(figures.drift_p)},
            {"total_ios", series.ios},
            {"errors", series.errors},
            {"rounds", std::move(raw)}};
}

const Judgement *of_baseline(const Findings &findings, const std::string &arm) {
    for (const Judgement &judgement : findings.of_baseline)
        if (judgement.arm == arm)
            return &judgement;
    return nullptr;
}

double measured_part(const Preset &preset, const Findings &findings, const std::string &arm) {
    if (arm == preset.baseline)
        return 1.0;
    const Judgement *judgement = of_baseline(findings, arm);
    return judgement != nullptr ? judgement->ratio : NAN;
}

Json to_json(const Preset &preset, const Settings &settings, const EngineOutcome &engine) {
    const auto &[rounds, findings] = engine;
    Json arms = Json::array(), added = Json::array(), published = Json::array();
    for (std::size_t i = 0; i < rounds.series.size(); ++i)
        arms.push_back(to_json(rounds.series[i], findings.arms[i]));
    for (const AddedFigures &figures : findings.added)
        added.push_back({{"arm", figures.goal.arm},
                         {"than", figures.goal.than},
                         {"ratio", number(figures.ratio)},
                         {"interval", pair(figures.interval)},
                         {"must", figures.goal.must},
                         {"strive", figures.goal.strive},
                         {"outcome", outcome(figures)}});
    for (const Published &machine : preset.published)
        for (const PublishedRow &row : machine.rows)
            published.push_back(
                {{"machine", machine.machine},
                 {"row", row.label},
                 {"arm", row.arm},
                 {"published_iops", number(row.iops)},
                 {"published_ratio", number(row.of_baseline)},
                 {"measured_ratio", number(measured_part(preset, findings, row.arm))}});
    return {{"engine", rounds.engine},
            {"rounds_asked", rounds.asked},
            {"rounds_done", rounds.done},
            {"slice_ns", rounds.slice.count()},
            {"planned_s", seconds(rounds.planned)},
            {"taken_s", seconds(rounds.taken)},
            {"resolution", number(findings.resolution.at(settings.threads))},
            {"margin", settings.margin},
            {"arms", std::move(arms)},
            {"of_baseline", to_json(findings.of_baseline)},
            {"contrasts", to_json(findings.contrasts)},
            {"added", std::move(added)},
            {"published", std::move(published)}};
}

std::string verdict_text(const Judgement &judgement, double margin) {
    if (judgement.verdict == Verdict::same)
        return fmt::format("same within {:g} %", margin * 100.0);
    return word(judgement.verdict);
}

std::string interval_text(const stats::Interval &interval) {
    return fmt::format("[{}, {}]", fixed(interval.low, 3), fixed(interval.high, 3));
}

// A trend that chance explains is no drift.
bool drifts(const ArmFigures &arm) { return arm.missing.empty() && arm.drift_p < 0.01; }

std::string arms_text(const Preset &preset, const EngineOutcome &engine) {
    Table table({"arm", "jobs", "kIOPS", "ns/IO", "CV", "drift", "of " + preset.baseline, "95 %"});
    table.left(7);
    for (const ArmFigures &arm : engine.findings.arms) {
        const std::string jobs = fmt::format("{}", arm.threads);
        if (!arm.missing.empty()) {
            table.add({arm.name, jobs, "skipped: see below"});
            continue;
        }
        const Judgement *judgement = of_baseline(engine.findings, arm.name);
        table.add({arm.name,
                   jobs,
                   fixed(arm.iops / 1000.0, 1),
                   fixed(arm.ns, 0),
                   percent(arm.variation),
                   drifts(arm) ? percent(arm.drift) : "no",
                   judgement != nullptr ? percent(judgement->ratio) : "",
                   judgement != nullptr ? interval_text(judgement->interval) : ""});
    }
    return table.text();
}

std::string published_text(const Preset &preset, const Findings &findings) {
    if (preset.published.empty())
        return {};
    Table table({"published, of " + preset.baseline, "row", "arm here", "published", "measured"});
    table.left(1);
    table.left(2);
    for (const Published &machine : preset.published)
        for (const PublishedRow &row : machine.rows)
            table.add({machine.machine,
                       row.label,
                       row.arm,
                       percent(row.of_baseline),
                       row.arm.empty() ? "-" : percent(measured_part(preset, findings, row.arm))});
    return "\n" + table.text();
}

std::string
judgements_text(const std::vector<Judgement> &judgements, const std::string &title, double margin) {
    if (judgements.empty())
        return {};
    Table table({title, "ratio", "95 %", "p (Holm)", "verdict"});
    table.left(2);
    table.left(4);
    for (const Judgement &judgement : judgements)
        table.add({judgement.name,
                   fixed(judgement.ratio, 3),
                   interval_text(judgement.interval),
                   fixed(judgement.adjusted, 4),
                   verdict_text(judgement, margin)});
    return "\n" + table.text();
}

std::string added_text(const Preset &preset, const Findings &findings) {
    std::string text;
    for (const AddedFigures &figures : findings.added)
        text += fmt::format(
            "\ntime that {} adds to {}: {} of what {} adds {} (at most {:g}, strive for "
            "{:g}: {})\n",
            figures.goal.arm,
            preset.baseline,
            fixed(figures.ratio, 3),
            figures.goal.than,
            interval_text(figures.interval),
            figures.goal.must,
            figures.goal.strive,
            outcome(figures));
    return text;
}

std::string engine_text(const ExperimentReport &report, const EngineOutcome &engine) {
    const auto &[rounds, findings] = engine;
    std::string text = fmt::format("engine {}: {} of {} rounds, {} ms each, {:.0f} s\n",
                                   rounds.engine,
                                   rounds.done,
                                   rounds.asked,
                                   rounds.slice / 1ms,
                                   seconds(rounds.taken));
    text += "A against A: this engine resolves differences over";
    for (const auto &[threads, resolution] : findings.resolution)
        text += fmt::format(" {} @{}", percent(resolution, 2), threads);
    text += "\n\n";
    text += arms_text(report.preset, engine);
    for (const ArmFigures &arm : findings.arms)
        if (!arm.missing.empty())
            text += fmt::format("skipped {}: {}\n", arm.name, arm.missing);
    if (std::any_of(findings.arms.begin(), findings.arms.end(), drifts))
        text += "drift: this machine was not steady; raise --rounds, or quiet the machine\n";
    text += published_text(report.preset, findings);
    text += judgements_text(
        findings.of_baseline, "against " + report.preset.baseline, report.settings.margin);
    text += judgements_text(findings.contrasts, "contrast @jobs", report.settings.margin);
    return text + added_text(report.preset, findings) + "\n";
}

std::string busy_text(const std::vector<BusyFigures> &busy) {
    if (busy.empty())
        return {};
    Table table(
        {"busy time", "model", "I/Os", "model ms", "true ms", "model / true", "util", "true util"});
    table.left(1);
    for (const BusyFigures &row : busy)
        table.add({row.workload,
                   row.model,
                   fmt::format("{}", row.ios),
                   fixed(row.busy, 0),
                   fixed(row.truth, 1),
                   fixed(row.truth > 0.0 ? row.busy / row.truth : NAN, 2),
                   percent(row.elapsed > 0.0 ? row.busy / row.elapsed : NAN),
                   percent(row.elapsed > 0.0 ? row.truth / row.elapsed : NAN)});
    return table.text() +
           "true ms is what the caller waited, submission and wake-up included; a model\n"
           "counts from begin to end of the I/O inside the disk.\n\n";
}

// How the tables above are to be read: once, for all engines.
std::string reading_text(const std::vector<EngineOutcome> &engines) {
    if (engines.empty())
        return {};
    return "Ratios are medians of the rounds' own ratios, not ratios of the kIOPS shown. An\n"
           "interval is that of one comparison; p and the verdict are for all comparisons of\n"
           "an engine together (Holm).\n\n";
}

} // namespace

Json to_json(const ExperimentReport &report) {
    Json engines = Json::array(), busy = Json::array();
    for (const EngineOutcome &engine : report.engines)
        engines.push_back(to_json(report.preset, report.settings, engine));
    for (const BusyFigures &row : report.busy)
        busy.push_back({{"workload", row.workload},
                        {"model", row.model},
                        {"ios", row.ios},
                        {"busy_ms", number(row.busy)},
                        {"true_ms", number(row.truth)},
                        {"elapsed_ms", number(row.elapsed)},
                        {"ratio", number(row.truth > 0.0 ? row.busy / row.truth : NAN)}});
    return {{"schema", "blktally/experiment/1"},
            {"name", report.preset.name},
            {"title", report.preset.title},
            {"partial", report.signal != 0},
            {"signal", report.signal},
            {"jobs", report.settings.threads},
            {"seed", report.settings.seed},
            {"baseline", report.preset.baseline},
            {"environment", report.environment},
            {"engines", std::move(engines)},
            {"busy_time", std::move(busy)},
            {"messages", report.messages}};
}

std::string to_text(const ExperimentReport &report) {
    std::string text =
        fmt::format("{}: {}\n{}\n", report.preset.name, report.preset.title, report.preset.source);
    if (!report.preset.question.empty())
        text += report.preset.question + "\n";
    text += fmt::format("kernel {}, {} jobs, seed {}\n",
                        report.environment["kernel"]["release"].get<std::string>(),
                        report.settings.threads,
                        report.settings.seed);
    const bool emulated = report.environment["emulated"].get<bool>();
    if (emulated)
        text += "EMULATED (QEMU without KVM): times and their ratios say nothing about hardware\n";
    if (report.signal != 0)
        text += fmt::format("PARTIAL: ended by signal {}\n", report.signal);
    text += "\n";
    for (const EngineOutcome &engine : report.engines)
        text += engine_text(report, engine);
    text += reading_text(report.engines) + busy_text(report.busy);
    if (emulated)
        text += "EMULATED: verdicts hold for this emulated machine only; the published effect\n"
                "needs real CPUs.\n";
    return text;
}

Json to_json(const Preset &preset) {
    Json arms = Json::array();
    for (const Arm &arm : preset.arms)
        arms.push_back({{"name", arm.name},
                        {"about", arm.about},
                        {"device", arm.device},
                        {"profile", arm.profile},
                        {"modes", to_json(arm.modes)},
                        {"lower", arm.lower}});
    return {{"name", preset.name},
            {"title", preset.title},
            {"source", preset.source},
            {"question", preset.question},
            {"block_bytes", preset.block_bytes},
            {"baseline", preset.baseline},
            {"arms", std::move(arms)}};
}

std::string to_text(const Preset &preset) {
    std::string text = fmt::format("{}: {}\n{}\n", preset.name, preset.title, preset.source);
    if (!preset.question.empty())
        text += preset.question + "\n";
    Table table({"arm", "device", "profile or modes", "about"});
    for (std::size_t column : {1, 2, 3})
        table.left(column);
    for (const Arm &arm : preset.arms) {
        const Modes &modes = arm.modes;
        std::string set = arm.profile;
        for (const std::string *word :
             {&modes.inflight, &modes.pending, &modes.ticks, &modes.clock})
            if (!word->empty())
                set += (set.empty() ? "" : " ") + *word;
        if (!arm.lower.empty())
            set += " over " + arm.lower;
        table.add({arm.name, arm.device, set, arm.about});
    }
    text += "\n" + table.text();
    if (!preset.published.empty()) {
        Table rows({"published on", "row", "IOPS", "of " + preset.baseline});
        rows.left(1);
        for (const Published &machine : preset.published)
            for (const PublishedRow &row : machine.rows)
                rows.add(
                    {machine.machine, row.label, fixed(row.iops, 0), percent(row.of_baseline)});
        text += "\n" + rows.text();
    }
    return text;
}

} // namespace tally
