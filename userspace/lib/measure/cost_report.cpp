// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/cost_report.hpp"

#include <fmt/format.h>

#include "measure/table.hpp"

namespace tally {
namespace {

const char *unit(const CostSettings &settings) {
    return settings.instructions ? "instructions" : "ns";
}

const CostPath &path_of(const CostFigures &figures) {
    for (const CostPath &path : cost_paths())
        if (path.id == figures.id)
            return path;
    throw std::logic_error("no such path: " + figures.id);
}

std::string gates_text(const CostReport &report) {
    Table table({"gate", "here", "must", "strive for", "outcome"});
    table.left(4);
    for (const GateFigures &gate : report.gates)
        table.add({gate.gate->name,
                   fixed(gate.value, 0),
                   fixed(gate.must, 0),
                   fixed(gate.strive, 0),
                   word(gate.outcome) + (gate.reason.empty() ? "" : ": " + gate.reason)});
    return table.text();
}

} // namespace

Json to_json(const CostReport &report) {
    Json paths = Json::array(), gates = Json::array();
    for (const CostFigures &figures : report.figures) {
        const CostPath &path = path_of(figures);
        paths.push_back(
            {{"id", figures.id},
             {"about", path.about},
             {"engine", path.engine},
             {"device", path.arm.device},
             {"profile", path.arm.profile},
             {"raw", path.raw.empty() ? Json(nullptr) : Json(path.raw)},
             {"missing", figures.missing.empty() ? Json(nullptr) : Json(figures.missing)},
             {"cost", number(figures.cost)},
             {"spread", number(figures.spread)},
             {"added", number(figures.added)},
             {"of_peer", number(figures.of_peer)},
             {"cycles", number(figures.cycles)},
             {"instructions", number(figures.retired)}});
    }
    for (const GateFigures &gate : report.gates)
        gates.push_back({{"name", gate.gate->name},
                         {"path", gate.gate->path},
                         {"judges", gate.gate->added ? "added" : "cost"},
                         {"value", number(gate.value)},
                         {"must", number(gate.must)},
                         {"strive", number(gate.strive)},
                         {"outcome", word(gate.outcome)},
                         {"reason", gate.reason.empty() ? Json(nullptr) : Json(gate.reason)}});
    return {{"schema", "blktally/cost/1"},
            {"partial", report.signal != 0},
            {"signal", report.signal},
            {"unit", unit(report.settings)},
            {"ios", report.settings.ios},
            {"repeats", report.settings.repeats},
            {"cpu", report.settings.cpu},
            {"environment", report.environment},
            {"paths", std::move(paths)},
            {"gates", std::move(gates)},
            {"messages", report.messages}};
}

std::string to_text(const CostReport &report) {
    const bool counted = report.settings.instructions;
    std::string text =
        fmt::format("{} per I/O: 512 B sequential reads, depth 1, {} I/Os, median of {}\n",
                    unit(report.settings),
                    report.settings.ios,
                    report.settings.repeats);
    if (!counted && report.environment["emulated"].get<bool>())
        text += "EMULATED (QEMU without KVM) and not counting: times say nothing about hardware\n";
    if (report.signal != 0)
        text += fmt::format("PARTIAL: ended by signal {}\n", report.signal);

    Table table({"path",
                 unit(report.settings),
                 "spread",
                 "added to raw",
                 "of dm-linear's",
                 "cycles",
                 "retired"});
    std::string skipped;
    for (const CostFigures &figures : report.figures) {
        const CostPath &path = path_of(figures);
        if (!figures.missing.empty()) {
            skipped += fmt::format("skipped {}: {}\n", path.about, figures.missing);
            continue;
        }
        table.add({path.about,
                   fixed(figures.cost, 0),
                   percent(figures.spread),
                   path.raw.empty() ? "" : fixed(figures.added, 0),
                   path.peer.empty() ? "" : fixed(figures.of_peer, 3),
                   fixed(figures.cycles, 0),
                   fixed(figures.retired, 0)});
    }
    return text + "\n" + table.text() + skipped + "\n" + gates_text(report);
}

} // namespace tally
