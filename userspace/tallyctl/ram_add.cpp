// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"
#include "devices.hpp"
#include "signals.hpp"
#include "ram.hpp"
#include "verbs.hpp"

#include "blktally/error.hpp"

namespace tally {

namespace {

struct Options {
    RamOptions ram;
    std::uint64_t size = 0, block_size = 0, node = 0;
    bool on_node = false, no_load = false;
};

int run(const Options& options, Session& session) {
    RamOptions ram = options.ram;
    ram.sectors = options.size / 512;
    ram.block_size = static_cast<std::uint32_t>(options.block_size);
    ram.node = options.on_node ? static_cast<std::int32_t>(options.node) : -1;

    if (!options.no_load)
        session.load({"tally_ram"});
    Control control = session.open();
    const SignalsHeld held;
    const Created created = make_device(
        session,
        ram.name,
        [&] { return control.ram_add(ram); },
        [&](const DiskRef& ref) { control.ram_remove(ref, false); });
    if (ram.name.empty()) // else nobody knows what it is called
        session.out = created.disk + "\n";
    return exit_ok;
}

void check_size(const Options& options) {
    const std::uint64_t block = options.block_size ? options.block_size : 512;
    if (options.size % block != 0)
        throw CLI::ValidationError("--size",
                                   std::to_string(options.size) + " is not a multiple of " +
                                       std::to_string(block) + " bytes, the block size");
}

} // namespace

void setup_ram_add(CLI::App& ram, Session& session) {
    CLI::App& verb = *ram.add_subcommand("add", "Add a disk");
    auto options = verb_options(verb, session, run);
    verb.parse_complete_callback([options] { check_size(*options); });
    RamOptions& disk = options->ram;

    add_word(verb, "NAME", disk.name, "Its name; without it the kernel's, which is printed");
    add_size(verb, "--size", options->size, "Bytes, or with K, M, G, T", 1)->required();
    add_word(verb, "--backing", disk.backing, "null or ram")->type_name("WORD");
    add_word(verb, "--store", disk.store, "flat or sparse")->type_name("WORD");
    add_size(verb, "--block-size", options->block_size, "512 to 4096 bytes", 1, 1U << 20);
    add_word(verb, "--completion", disk.completion, "inline, softirq or timer")->type_name("WORD");
    add_number(verb, "--completion-ns", disk.completion_ns, "For timer: after so many ns", 1);
    add_word(verb, "--profile", disk.profile, "Its accounting profile")->type_name("PROFILE");
    verb.add_flag("-r,--readonly", disk.read_only, "Refuse writes");
    add_number(verb, "--node", options->node, "NUMA node of the data", 0, INT32_MAX)
        ->each([options](const std::string&) { options->on_node = true; });
    add_no_load(verb, options->no_load);
}

} // namespace tally
