// SPDX-License-Identifier: GPL-2.0-or-later
#include "request.hpp"

#include <algorithm>

#include <fcntl.h>

namespace fuzz {

namespace {

constexpr const char* PROFILES[] = {
    "none", "linux-4.20", "percpu-v1", "linux-5.0", "linux-5.18", "linux-6.10", "native"};
constexpr uint64_t LONGEST_NS = 3'000'000, LONGEST_IOS = 8, SLOWEST_NS = 200'000;
constexpr uint32_t DEEPEST = 32;

// What a command is asked about: usually one with which it succeeds.
std::optional<Disk> target(const Command& c, const World& w, Random& random) {
    const auto kind = static_cast<uint32_t>(c.names);
    switch (c.request) {
    case TALLY_RAM_REMOVE:
    case TALLY_MAP_REMOVE:
        return w.model.pick(random, kind, [](const Disk& d) { return !d.open_count; });
    case TALLY_MAP_RESUME:
        return w.model.pick(random, kind, [](const Disk& d) {
            return d.is(TALLY_DISK_LIVE | TALLY_DISK_INACTIVE);
        });
    default:
        return w.model.pick(random, kind);
    }
}

void put_ref(Request& rq, const std::optional<Disk>& d, Random& random) {
    if (d && random.percent(30)) {
        rq.ref().major = d->major;
        rq.ref().minor = d->minor;
    } else {
        put_text(rq.ref().name, sizeof(rq.ref().name), d ? d->name : "nobody");
    }
}

void set(Request& rq, const World&, Random& random) {
    auto& s = rq.as<tally_set>();
    if (random.percent(80))
        put_text(s.profile, sizeof(s.profile), random.pick(PROFILES));
    if (random.percent(20))
        put_text(s.mode[TALLY_AXIS_CLOCK], TALLY_WORD_LEN, random.percent(50) ? "ns" : "off");
    if (random.percent(20))
        put_text(
            s.mode[TALLY_AXIS_INFLIGHT], TALLY_WORD_LEN, random.percent(50) ? "pernode" : "split");
    if (random.percent(10))
        put_text(s.mode[TALLY_AXIS_TICKS], TALLY_WORD_LEN, random.percent(50) ? "exact" : "round");
}

void queues_of(tally_ram_add& add, Random& random) {
    put_text(add.queue, sizeof(add.queue), "mq");
    for (uint32_t flag : {TALLY_RAM_MQ_SHARED_TAGS,
                          TALLY_RAM_MQ_TAG_BITMAP,
                          TALLY_RAM_MQ_NO_SCHED,
                          TALLY_RAM_MQ_BLOCKING,
                          TALLY_RAM_MQ_PER_NODE})
        if (random.percent(25))
            add.head.flags |= flag;
    if (!(add.head.flags & TALLY_RAM_MQ_PER_NODE))
        add.submit_queues = static_cast<uint32_t>(random.below(3)); // the machine has two CPUs
    add.poll_queues = static_cast<uint32_t>(random.below(3));
    add.depth = static_cast<uint32_t>(random.below(DEEPEST));
    if (random.percent(20))
        add.max_sectors = static_cast<uint32_t>(8 * (1 + random.below(32)));
    if (random.percent(20))
        add.head.flags |= TALLY_RAM_VIRT_BOUNDARY;
}

void ram_add(Request& rq, const World& w, Random& random) {
    auto& add = rq.as<tally_ram_add>();
    const bool null = random.percent(25), timer = random.percent(15);
    if (random.percent(85))
        put_text(add.name, sizeof(add.name), w.model.fresh_name('r'));
    put_text(add.profile, sizeof(add.profile), random.percent(50) ? random.pick(PROFILES) : "");
    put_text(add.backing, sizeof(add.backing), null ? "null" : random.percent(50) ? "ram" : "");
    if (!null && random.percent(60))
        put_text(add.store, sizeof(add.store), random.percent(50) ? "sparse" : "flat");
    put_text(add.completion,
             sizeof(add.completion),
             timer                ? "timer"
             : random.percent(20) ? "softirq"
                                  : "");
    add.completion_ns = timer ? 1 + random.below(SLOWEST_NS) : 0;
    if (timer && random.percent(50)) {
        put_text(add.jitter, sizeof(add.jitter), random.percent(50) ? "uniform" : "exponential");
        add.jitter_ns = 1 + random.below(add.completion_ns);
    }
    add.block_size = random.percent(30) ? 4096 : random.percent(50) ? 512 : 0;
    add.sectors = 8 * (1 + random.below(8));
    add.node = random.percent(70) ? -1 : 0;
    for (uint32_t flag : {TALLY_RAM_READONLY, TALLY_RAM_ROTATIONAL, TALLY_RAM_NO_DISCARD})
        if (random.percent(20))
            add.head.flags |= flag;
    if (random.percent(20)) {
        add.io_min = static_cast<uint32_t>(4096 * (1 + random.below(16)));
        add.io_opt = static_cast<uint32_t>(add.io_min * random.below(4));
    }
    if (random.percent(20))
        queues_of(add, random);
}

void ram_remove(Request& rq, const World&, Random& random) {
    if (random.percent(20))
        rq.head().flags = TALLY_RAM_FORCE;
}

void ram_set(Request& rq, const World&, Random& random) {
    auto& set = rq.as<tally_ram_set>();
    // Capped they still end soon.
    const std::pair<const char*, uint64_t> settings[] = {
        {"size", 4096 * (1 + random.below(8))},
        {"completion_ns", 1 + random.below(SLOWEST_NS)},
        {"iops", random.percent(50) ? 0 : 100'000 + random.below(1'000'000)},
        {"bandwidth", random.percent(50) ? 0 : uint64_t{1} << (30 + random.below(10))},
    };
    const auto& [name, value] = settings[random.percent(70) ? 0 : random.below(4)];
    put_text(set.setting, sizeof(set.setting), name);
    put_text(set.value,
             sizeof(set.value),
             random.percent(5) ? std::string(21, '9') : std::to_string(value));
}

void map_create(Request& rq, const World& w, Random& random) {
    auto& create = rq.as<tally_map_create>();
    put_text(create.name, sizeof(create.name), w.model.fresh_name('m'));
    if (random.percent(50))
        put_text(create.uuid, sizeof(create.uuid), "uuid-" + w.model.fresh_name('u'));
    if (random.percent(50))
        put_text(create.profile, sizeof(create.profile), random.pick(PROFILES));
    if (random.percent(20))
        create.head.flags = TALLY_MAP_READONLY;
}

// One to three runs of disks of ours, sometimes of maps, on blocks of 4096 bytes.
void map_load(Request& rq, const World& w, Random& random) {
    bool readonly = random.percent(20);
    uint64_t at = 0;
    for (uint64_t n = 1 + random.below(3); n--;) {
        const auto lower = w.model.pick(random,
                                        random.percent(80) ? TALLY_KIND_RAM : TALLY_KIND_MAP,
                                        [](const Disk& d) { return d.sectors >= 8; });
        if (!lower)
            continue;
        const uint64_t pages = std::min<uint64_t>(lower->sectors / 8, 8);
        const uint64_t offset = pages ? random.below(pages) : 0;
        const uint64_t length = pages ? 8 * (1 + random.below(pages - offset)) : 8;
        rq.table += line(at, length, lower->number(), 8 * offset);
        at += length;
        readonly |= lower->readonly();
    }
    if (rq.table.empty())
        rq.table = "# no disk is there\n";
    if (readonly)
        rq.head().flags = TALLY_MAP_READONLY;
    rq.text.len = rq.table.size();
    rq.set<uint32_t>(offsetof(tally_map_load, table_len), static_cast<uint32_t>(rq.text.len));
}

void map_table(Request& rq, const World&, Random& random) {
    rq.head().flags = static_cast<uint32_t>(random.next()) & rq.command->flags;
}

void list(Request& rq, const World&, Random& random) {
    rq.as<tally_list>().kind = static_cast<uint32_t>(random.below(TALLY_KIND_MAP + 1));
}

void gen_run(Request& rq, const World& w, Random& random) {
    auto& run = rq.as<tally_gen_run>();
    // A suspended map keeps a run waiting until somebody resumes it, or sends a signal.
    const bool may_wait = random.percent(10);
    auto disk = w.model.pick(random, TALLY_KIND_ANY, [&](const Disk& d) {
        return d.sectors >= 8 && (may_wait || !d.is(TALLY_DISK_SUSPENDED));
    });
    if (w.foreign && random.percent(5))
        disk = w.foreign;
    const bool write = disk && !disk->readonly() && random.percent(50);
    tally::Fd fd(disk ? ::open(disk->node().c_str(),
                               (write ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_DIRECT | O_CLOEXEC)
                      : -1);
    run.fd = fd.get();
    rq.keep.push_back(std::move(fd));
    run.head.flags = (write ? TALLY_GEN_WRITE : 0) | (random.percent(50) ? TALLY_GEN_RANDOM : 0) |
                     (random.percent(20) ? TALLY_GEN_FORCE : 0);
    run.nr_threads = 1 + static_cast<uint32_t>(random.below(2));
    run.depth = 1 + static_cast<uint32_t>(random.below(4));
    run.block_bytes = disk && disk->block > 4096 ? disk->block : 4096;
    if (random.percent(80))
        run.ios = 1 + random.below(LONGEST_IOS);
    if (!run.ios || random.percent(20))
        run.duration_ns = 1 + random.below(LONGEST_NS);
    run.seed = random.next();
    rq.cpus.len = random.percent(30) ? run.nr_threads * sizeof(uint32_t) : 0;
    rq.threads.len = random.percent(50) ? run.nr_threads * sizeof(tally_gen_result) : 0;
}

constexpr struct {
    unsigned request;
    void (*fill)(Request& rq, const World& w, Random& random);
} FILLERS[] = {
    {TALLY_LIST, list},
    {TALLY_SET, set},
    {TALLY_RAM_ADD, ram_add},
    {TALLY_RAM_REMOVE, ram_remove},
    {TALLY_RAM_SET, ram_set},
    {TALLY_MAP_CREATE, map_create},
    {TALLY_MAP_LOAD, map_load},
    {TALLY_MAP_TABLE, map_table},
    {TALLY_MAP_DEPS, map_table},
    {TALLY_GEN_RUN, gen_run},
};

} // namespace

void put_text(char* field, size_t size, const std::string& text) {
    std::memset(field, 0, size);
    std::memcpy(field, text.data(), std::min(text.size(), size));
}

std::string line(uint64_t start, uint64_t length, const std::string& device, uint64_t offset) {
    return std::to_string(start) + " " + std::to_string(length) + " linear " + device + " " +
           std::to_string(offset) + "\n";
}

Request valid_request(const Command& c, const World& world, Random& random) {
    Request rq{};
    rq.command = &c;
    rq.request = c.request;
    rq.bytes.resize(c.size);
    rq.head().size = c.size;
    rq.head().abi = TALLY_ABI_VERSION;
    if (random.percent(50)) {
        rq.reason.len = random.percent(50) ? TALLY_REASON_MAX : 1 + random.below(TALLY_REASON_MAX);
        rq.head().reason_len = static_cast<uint32_t>(rq.reason.len);
    }
    if (c.names != Names::Nothing)
        put_ref(rq, target(c, world, random), random);
    if (c.record_size)
        rq.set<uint32_t>(c.record_size,
                         random.percent(50) ? 600
                                            : 8 * (1 + static_cast<uint32_t>(random.below(100))));
    if (c.buf) {
        rq.out.len = random.percent(70) ? 16384 : random.below(2048);
        rq.set<uint32_t>(c.buf + 8, static_cast<uint32_t>(rq.out.len));
    }
    for (const auto& filler : FILLERS)
        if (filler.request == c.request)
            filler.fill(rq, world, random);
    return rq;
}

void tame(Request& rq) {
    if (rq.bytes.size() < rq.command->size)
        return;
    if (rq.command->request == TALLY_RAM_ADD) {
        auto& add = rq.as<tally_ram_add>();
        if (add.completion_ns > SLOWEST_NS && add.completion_ns <= TALLY_COMPLETION_NS_MAX)
            add.completion_ns = SLOWEST_NS;
        if (add.jitter_ns > SLOWEST_NS && add.jitter_ns <= TALLY_COMPLETION_NS_MAX)
            add.jitter_ns = SLOWEST_NS;
        if (add.sectors > 256 && add.sectors < 1ULL << 32)
            add.sectors = 8;
        if (add.depth > DEEPEST && add.depth <= TALLY_RAM_DEPTH_MAX)
            add.depth = DEEPEST;
    } else if (rq.command->request == TALLY_GEN_RUN) {
        auto& run = rq.as<tally_gen_run>();
        if (run.ios > LONGEST_IOS)
            run.duration_ns = std::clamp<uint64_t>(run.duration_ns, 1, LONGEST_NS);
        if (!run.ios)
            run.duration_ns = std::min<uint64_t>(run.duration_ns, LONGEST_NS);
        // A race takes one of the two bounds away at most.
        if (rq.raced) {
            run.ios = 1 + run.ios % LONGEST_IOS;
            run.duration_ns = 1 + run.duration_ns % LONGEST_NS;
        }
        const uint64_t memory = uint64_t{run.nr_threads} * run.depth * run.block_bytes;
        const bool absurd = run.nr_threads > TALLY_GEN_THREADS_MAX || memory >= 1ULL << 36;
        if (run.nr_threads > 4 && !absurd)
            run.nr_threads = 4;
        if (memory > 1 << 20 && !absurd) {
            run.depth = std::min<uint32_t>(run.depth, 4);
            run.block_bytes = std::min<uint32_t>(run.block_bytes, 65536);
        }
    }
}

} // namespace fuzz
