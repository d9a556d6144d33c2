// SPDX-License-Identifier: GPL-2.0-or-later
#include "provocation.hpp"

#include <cerrno>

#include <fcntl.h>

namespace fuzz {

namespace {

tally::Fd open_disk(const Disk& d, int flags) {
    return tally::Fd(::open(d.node().c_str(), flags | O_NONBLOCK | O_CLOEXEC));
}

bool about(Request& rq, const std::optional<Disk>& d) {
    if (!d)
        return false;
    rq.ref() = ref_of(*d);
    return true;
}

bool with_table(Request& rq, const std::string& table, uint32_t flags = 0) {
    rq.table = table;
    rq.text = {};
    rq.text.len = table.size();
    rq.set<uint32_t>(offsetof(tally_map_load, table_len), static_cast<uint32_t>(table.size()));
    rq.head().flags = flags;
    return true;
}

// -------------------------------------------------------------- any command's

bool unprivileged(Request& rq, const World&, Random&) { return rq.unprivileged = true; }

bool no_memory_there(Request& rq, const World&, Random&) {
    rq.self.where = Where::ReadOnly;
    return true;
}

bool unknown_flag(Request& rq, const World&, Random&) {
    rq.head().flags |= 1u << 31;
    return true;
}

bool bytes_behind(Request& rq, const World&, Random&) {
    rq.resize(rq.bytes.size() + 8);
    rq.bytes.back() = 1;
    return true;
}

bool other_version(Request& rq, const World&, Random&) {
    rq.head().abi = TALLY_ABI_VERSION + 1;
    return true;
}

bool other_number(Request& rq, const World&, Random&) {
    rq.request |= 0x40;
    return true;
}

bool nobody(Request& rq, const World&, Random&) {
    rq.ref() = {};
    put_text(rq.ref().name, sizeof(rq.ref().name), "nobody");
    return true;
}

bool long_name(Request& rq, const World&, Random&) {
    // Of a disk that is asked for, or of one that is made: both come first.
    std::memset(rq.bytes.data() + REF, 'n', TALLY_NAME_LEN);
    return true;
}

bool other_kind(Request& rq, const World& w, Random& random) {
    return about(
        rq,
        w.model.pick(random, rq.command->names == Names::Map ? TALLY_KIND_RAM : TALLY_KIND_MAP));
}

// ----------------------------------------------------------- of some commands

bool taken_name(Request& rq, const World& w, Random& random) {
    const auto d = w.model.pick(random);
    if (d)
        put_text(reinterpret_cast<char*>(rq.bytes.data()) + REF, TALLY_NAME_LEN, d->name);
    return d.has_value();
}

bool endless_memory(Request& rq, const World&, Random&) {
    auto& add = rq.as<tally_ram_add>();
    put_text(add.backing, sizeof(add.backing), "ram");
    put_text(add.store, sizeof(add.store), "flat");
    add.sectors = 1ULL << 40;
    return true;
}

bool open_now(Request& rq, const World& w, Random& random) {
    const auto d = w.model.pick(random, static_cast<uint32_t>(rq.command->names));
    if (!about(rq, d))
        return false;
    rq.head().flags = 0;
    rq.keep.push_back(open_disk(*d, O_RDONLY));
    return static_cast<bool>(rq.keep.back());
}

bool held_lower(Request& rq, const World& w, Random& random) {
    for (const Disk& d : w.model.all(TALLY_KIND_RAM)) {
        tally::Fd fd = open_disk(d, O_RDONLY | O_EXCL);
        if (!fd)
            continue; // a map has it
        rq.keep.push_back(std::move(fd));
        return about(rq, w.model.pick(random, TALLY_KIND_MAP)) &&
               with_table(rq, line(0, 8, d.number(), 0), TALLY_MAP_READONLY);
    }
    return false;
}

bool readonly_lower(Request& rq, const World& w, Random& random) {
    const auto d = w.model.pick(random, TALLY_KIND_RAM, [](const Disk& r) { return r.readonly(); });
    return d && d->readonly() && about(rq, w.model.pick(random, TALLY_KIND_MAP)) &&
           with_table(rq, line(0, 8, d->number(), 0));
}

bool onto_itself(Request& rq, const World& w, Random& random) {
    const auto m =
        w.model.pick(random, TALLY_KIND_MAP, [](const Disk& d) { return d.sectors >= 8; });
    return m && m->sectors >= 8 && about(rq, m) &&
           with_table(rq, line(0, 8, m->number(), 0), TALLY_MAP_READONLY);
}

// A map of small blocks that is open, and a table that would make them large.
bool larger_blocks(Request& rq, const World& w, Random& random) {
    const auto small = [](const Disk& d) { return d.is(TALLY_DISK_LIVE) && d.block == 512; };
    const auto large = [](const Disk& d) { return d.block == 4096; };
    const auto m = w.model.pick(random, TALLY_KIND_MAP, small);
    const auto r = w.model.pick(random, TALLY_KIND_RAM, large);
    if (!m || !small(*m) || !r || !large(*r))
        return false;
    rq.keep.push_back(open_disk(*m, O_RDONLY));
    return rq.keep.back() && about(rq, m) &&
           !w.model.load(*m, line(0, 8, r->number(), 0), TALLY_MAP_READONLY);
}

bool closed_fd(Request& rq, const World&, Random&) {
    rq.as<tally_gen_run>().fd = -1;
    return true;
}

bool character_device(Request& rq, const World& w, Random&) {
    rq.as<tally_gen_run>().fd = w.character;
    return true;
}

bool gen_write(Request& rq, const World& w, Random& random, bool readonly, int flags) {
    const auto wanted = [&](const Disk& d) {
        return d.kind == TALLY_KIND_RAM && d.readonly() == readonly;
    };
    const auto d = w.model.pick(random, TALLY_KIND_RAM, wanted);
    if (!d || !wanted(*d))
        return false;
    auto& run = rq.as<tally_gen_run>();
    rq.keep.push_back(open_disk(*d, flags));
    run.fd = rq.keep.back().get();
    run.head.flags = TALLY_GEN_WRITE;
    return true;
}

bool not_for_writing(Request& rq, const World& w, Random& random) {
    return gen_write(rq, w, random, false, O_RDONLY);
}

bool readonly_disk(Request& rq, const World& w, Random& random) {
    return gen_write(rq, w, random, true, O_RDWR);
}

bool endless_buffers(Request& rq, const World& w, Random& random) {
    const auto d =
        w.model.pick(random, TALLY_KIND_RAM, [](const Disk& r) { return r.sectors >= 64; });
    if (!d || d->sectors < 64)
        return false;
    rq.keep.push_back(open_disk(*d, O_RDONLY));
    auto& run = rq.as<tally_gen_run>();
    run.fd = rq.keep.back().get();
    run.head.flags = 0;
    run.nr_threads = TALLY_GEN_THREADS_MAX;
    run.depth = TALLY_GEN_DEPTH_MAX;
    run.block_bytes = 32768;
    run.span = 0;
    run.start = 0;
    return true;
}

// The first row that fits; request 0 is any.
constexpr struct {
    int error;
    unsigned request;
    bool (*apply)(Request& rq, const World& world, Random& random);
} WAYS[] = {
    {EPERM, 0, unprivileged},
    {EFAULT, 0, no_memory_there},
    {EINVAL, 0, unknown_flag},
    {E2BIG, 0, bytes_behind},
    {EPROTONOSUPPORT, 0, other_version},
    {ENOTTY, 0, other_number},
    {ENXIO, 0, nobody},
    {ENAMETOOLONG, 0, long_name},
    {ENODEV, 0, other_kind},
    {EEXIST, 0, taken_name},
    {ENOMEM, TALLY_RAM_ADD, endless_memory},
    {EBUSY, TALLY_RAM_REMOVE, open_now},
    {EBUSY, TALLY_MAP_REMOVE, open_now},
    {EBUSY, TALLY_MAP_LOAD, held_lower},
    {EROFS, TALLY_MAP_LOAD, readonly_lower},
    {ELOOP, TALLY_MAP_LOAD, onto_itself},
    {EBUSY, TALLY_MAP_RESUME, larger_blocks},
    {EBADF, TALLY_GEN_RUN, closed_fd},
    {ENOTBLK, TALLY_GEN_RUN, character_device},
    {EACCES, TALLY_GEN_RUN, not_for_writing},
    {EROFS, TALLY_GEN_RUN, readonly_disk},
    {ENOMEM, TALLY_GEN_RUN, endless_buffers},
};

} // namespace

bool provoke(Request& rq, int error, const World& world, Random& random) {
    for (const auto& way : WAYS)
        if (way.error == error && (!way.request || way.request == rq.command->request))
            return way.apply(rq, world, random);
    return false;
}

} // namespace fuzz
