// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace fuzz {

namespace {

#define AT(type, member) static_cast<uint16_t>(offsetof(struct type, member))
#define STRING(type, member)                                                                       \
    Field { AT(type, member), sizeof(type::member) }

constexpr const char* INDEXES = "takes a million disks";
constexpr const char* UNLOADING = "only while the disk's module unloads";

Command start(const char* name, unsigned request, size_t size) {
    Command c{};
    c.name = name;
    c.request = request;
    c.size = static_cast<uint16_t>(size);
    c.names = Names::Nothing;
    return c;
}
#define START(word, type) start(#word, TALLY_##word, sizeof(struct type))

Command records(Command c) {
    c.stateless = true;
    c.weight = 8;
    c.pads = {AT(tally_records, pad)};
    c.record_size = AT(tally_records, record_size);
    c.buf = AT(tally_records, buf);
    return c;
}

Command map_op(Command c, unsigned weight, std::vector<int> own) {
    c.names = Names::Map;
    c.weight = weight;
    c.own = std::move(own);
    return c;
}

std::vector<Command> make_commands() {
    std::vector<Command> list;
    auto add = [&](Command c) { list.push_back(std::move(c)); };

    Command c = START(INFO, tally_info);
    c.stateless = true;
    c.weight = 8;
    c.pads = {AT(tally_info, pad)};
    add(c);

    c = START(LIST, tally_list);
    c.stateless = true;
    c.weight = 8;
    c.record_size = AT(tally_list, record_size);
    c.buf = AT(tally_list, buf);
    add(c);

    c = START(DISK_GET, tally_disk_get);
    c.names = Names::Any;
    c.weight = 8;
    c.own_spared = {{ENODEV, UNLOADING}};
    add(c);

    c = START(SET, tally_set);
    c.names = Names::Any;
    c.weight = 3;
    c.strings = {STRING(tally_set, profile)};
    for (unsigned axis = 0; axis < TALLY_AXES; axis++)
        c.strings.push_back(
            {static_cast<uint16_t>(AT(tally_set, mode) + axis * TALLY_WORD_LEN), TALLY_WORD_LEN});
    c.own_spared = {{ENODEV, "only between the removal's start and its end"}};
    add(c);

    add(records(START(PROFILES, tally_records)));
    add(records(START(MODES, tally_records)));

    c = START(RAM_ADD, tally_ram_add);
    c.flags = TALLY_RAM_FLAGS;
    c.weight = 1;
    c.strings = {STRING(tally_ram_add, name),
                 STRING(tally_ram_add, profile),
                 STRING(tally_ram_add, backing),
                 STRING(tally_ram_add, store),
                 STRING(tally_ram_add, queue),
                 STRING(tally_ram_add, completion),
                 STRING(tally_ram_add, jitter)};
    c.own = {EEXIST, ENAMETOOLONG, ENOMEM};
    c.own_spared = {{ENOSPC, INDEXES}};
    add(c);

    c = START(RAM_REMOVE, tally_ram_remove);
    c.flags = TALLY_RAM_FORCE;
    c.names = Names::Ram;
    c.weight = 1;
    c.own = {EBUSY};
    add(c);

    c = START(RAM_SET, tally_ram_set);
    c.names = Names::Ram;
    c.weight = 2; // most wait for a freeze, and so for RCU
    c.strings = {STRING(tally_ram_set, setting), STRING(tally_ram_set, value)};
    c.own = {ERANGE};
    c.own_spared = {{ENODEV, "only between the removal's start and its end"}};
    add(c);

    c = START(RAM_SETTINGS, tally_ram_settings);
    c.names = Names::Ram;
    c.weight = 8;
    c.buf = AT(tally_ram_settings, buf);
    add(c);

    c = START(MAP_CREATE, tally_map_create);
    c.flags = TALLY_MAP_READONLY;
    c.weight = 1;
    c.strings = {STRING(tally_map_create, name),
                 STRING(tally_map_create, uuid),
                 STRING(tally_map_create, profile)};
    c.own = {EEXIST, ENAMETOOLONG};
    c.own_spared = {{ENOSPC, INDEXES}};
    add(c);

    c = START(MAP_LOAD, tally_map_load);
    c.flags = TALLY_MAP_READONLY;
    c.names = Names::Map;
    c.weight = 8;
    c.pads = {AT(tally_map_load, pad)};
    c.addresses = {AT(tally_map_load, table)};
    c.own = {EBUSY, EROFS, ELOOP};
    c.own_spared = {{EACCES, "only from the driver of a foreign disk that is read-only"}};
    add(c);

    add(map_op(START(MAP_RESUME, tally_map_op), 5, {EBUSY}));
    add(map_op(START(MAP_SUSPEND, tally_map_op), 4, {}));
    add(map_op(START(MAP_CLEAR, tally_map_op), 4, {}));
    add(map_op(START(MAP_REMOVE, tally_map_op), 1, {EBUSY}));

    c = START(MAP_TABLE, tally_map_table);
    c.flags = TALLY_TABLE_INACTIVE | TALLY_TABLE_STATUS;
    c.names = Names::Map;
    c.weight = 8;
    c.buf = AT(tally_map_table, buf);
    add(c);

    c = START(MAP_DEPS, tally_map_deps);
    c.flags = TALLY_TABLE_INACTIVE;
    c.names = Names::Map;
    c.weight = 8;
    c.buf = AT(tally_map_deps, buf);
    add(c);

    add(records(START(MAP_TARGETS, tally_records)));

    c = START(GEN_RUN, tally_gen_run);
    c.flags = TALLY_GEN_WRITE | TALLY_GEN_RANDOM | TALLY_GEN_FORCE;
    c.weight = 1;
    c.pads = {AT(tally_gen_run, pad), AT(tally_gen_run, ended)};
    c.addresses = {AT(tally_gen_run, cpus), AT(tally_gen_run, threads)};
    c.own = {EBADF, ENOTBLK, EACCES, EROFS, ENOMEM};
    add(c);
    return list;
}

constexpr int COMMON[] = {EPERM, EFAULT, EINVAL, E2BIG, EPROTONOSUPPORT, ENOTTY};
constexpr int OF_A_REF[] = {ENXIO, ENAMETOOLONG};

constexpr Spared COMMON_SPARED[] = {
    {ENOMEM, "takes a shortage of memory, or injected faults"},
};
constexpr Spared UNSEEN[] = {
    {EINTR, "takes a fatal signal, after which nobody is left to see it; others do not end a wait"},
};

} // namespace

std::span<const Command> commands() {
    static const std::vector<Command> list = make_commands();
    return list;
}

const Command& command(unsigned request) {
    return *std::find_if(commands().begin(), commands().end(), [&](const Command& c) {
        return c.request == request;
    });
}

size_t index_of(const Command& c) { return &c - commands().data(); }

std::vector<int> demanded(const Command& c) {
    std::vector<int> all(std::begin(COMMON), std::end(COMMON));
    if (c.names != Names::Nothing)
        all.insert(all.end(), std::begin(OF_A_REF), std::end(OF_A_REF));
    if (c.names == Names::Ram || c.names == Names::Map)
        all.push_back(ENODEV);
    all.insert(all.end(), c.own.begin(), c.own.end());
    return all;
}

std::vector<Spared> spared(const Command& c) {
    std::vector<Spared> all = c.own_spared;
    const auto wanted = demanded(c);
    for (const Spared& s : COMMON_SPARED)
        if (std::find(wanted.begin(), wanted.end(), s.error) == wanted.end())
            all.push_back(s);
    return all;
}

bool documented(const Command& c, int error) {
    const auto wanted = demanded(c);
    const auto others = spared(c);
    return std::find(wanted.begin(), wanted.end(), error) != wanted.end() ||
           std::any_of(
               others.begin(), others.end(), [&](const Spared& s) { return s.error == error; });
}

std::span<const Spared> unseen() { return UNSEEN; }

std::string errno_name(int error) {
    if (!error)
        return "success";
    const char* name = strerrorname_np(error);
    return name ? name : std::to_string(error);
}

} // namespace fuzz
