// SPDX-License-Identifier: GPL-2.0-or-later
#include "arguments.hpp"
#include "devices.hpp"
#include "ram.hpp"
#include "signals.hpp"
#include "verbs.hpp"

#include "blktally/error.hpp"

namespace tally {

namespace {

struct Options {
    RamOptions ram;
    std::uint64_t size = 0, block_size = 0, node = 0;
    std::uint64_t submit_queues = 0, poll_queues = 0, depth = 0, max_sectors = 0;
    std::uint64_t io_min = 0, io_opt = 0;
    bool on_node = false, no_load = false;
};

int run(const Options& options, Session& session) {
    RamOptions ram = options.ram;
    ram.sectors = options.size / 512;
    ram.block_size = static_cast<std::uint32_t>(options.block_size);
    ram.submit_queues = static_cast<std::uint32_t>(options.submit_queues);
    ram.poll_queues = static_cast<std::uint32_t>(options.poll_queues);
    ram.depth = static_cast<std::uint32_t>(options.depth);
    ram.max_sectors = static_cast<std::uint32_t>(options.max_sectors);
    ram.io_min = static_cast<std::uint32_t>(options.io_min);
    ram.io_opt = static_cast<std::uint32_t>(options.io_opt);
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
    add_word(verb, "--jitter", disk.jitter, "For timer: none, uniform or exponential")
        ->type_name("WORD");
    add_number(
        verb, "--jitter-ns", disk.jitter_ns, "So much sooner or later; mean of what it adds", 1);
    add_word(verb, "--queue", disk.queue, "bio or mq")->type_name("WORD");
    add_number(verb, "--submit-queues", options->submit_queues, "For mq: how many", 1, UINT32_MAX);
    add_number(verb, "--poll-queues", options->poll_queues, "For mq: polled ones", 1, UINT32_MAX);
    add_number(verb, "--depth", options->depth, "For mq: requests of each queue", 1, UINT32_MAX);
    add_number(verb, "--max-sectors", options->max_sectors, "For mq: of an I/O", 1, UINT32_MAX);
    verb.add_flag("--virt-boundary", disk.virt_boundary, "For mq: gaps in an I/O at pages only");
    verb.add_flag("--per-node", disk.per_node, "For mq: a submit queue per NUMA node");
    verb.add_flag("--shared-tags", disk.shared_tags, "For mq: tags of all disks like it");
    verb.add_flag("--tag-bitmap", disk.tag_bitmap, "For mq: the queues share the tags");
    verb.add_flag("--no-sched", disk.no_sched, "For mq: no I/O scheduler unless asked for");
    verb.add_flag("--blocking", disk.blocking, "For mq: the driver may sleep");
    add_word(verb, "--profile", disk.profile, "Its accounting profile")->type_name("PROFILE");
    add_size(verb, "--io-min", options->io_min, "Hint: the least good I/O", 1, UINT32_MAX);
    add_size(verb, "--io-opt", options->io_opt, "Hint: the best I/O", 1, UINT32_MAX);
    verb.add_flag("--rotational", disk.rotational, "Say that it rotates");
    verb.add_flag("--no-discard", disk.no_discard, "Take no discards");
    verb.add_flag("-r,--readonly", disk.read_only, "Refuse writes");
    add_number(verb, "--node", options->node, "NUMA node of the data", 0, INT32_MAX)
        ->each([options](const std::string&) { options->on_node = true; });
    add_no_load(verb, options->no_load);
}

} // namespace tally
