// SPDX-License-Identifier: GPL-2.0-or-later
#include "mutation.hpp"

#include <algorithm>
#include <bit>

namespace fuzz {

namespace {

using std::vector;

// ------------------------------------------------------------------- the head

bool size_field(Request& rq, const World&, Random& random) {
    const uint32_t size = rq.command->size;
    const uint32_t odd[] = {
        0, 1, 23, 24, size - 1, size + 1, size + 8, size / 2, 4096, 4097, 1u << 31, ~0u};
    rq.head().size = random.pick(odd);
    return true;
}

bool grown_dirty(Request& rq, const World&, Random& random) {
    rq.resize(rq.bytes.size() + 1 + random.below(64));
    rq.bytes.back() = static_cast<uint8_t>(1 + random.below(255));
    return true;
}

bool grown_clean(Request& rq, const World&, Random& random) {
    rq.resize(random.percent(10) ? 4096 : rq.bytes.size() + 8 * random.below(32));
    return true;
}

bool version(Request& rq, const World&, Random& random) {
    const uint32_t odd[] = {0, 2, 256, 1u << 31, ~0u};
    rq.head().abi = random.pick(odd);
    return true;
}

bool flags(Request& rq, const World&, Random& random) {
    rq.head().flags ^= 1u << random.below(32);
    return true;
}

bool reason_place(Request& rq, const World&, Random& random) {
    const uint32_t lengths[] = {0, 1, 2, 255, 256, 4096, 1u << 31, ~0u};
    rq.reason.len = 1 + random.below(TALLY_REASON_MAX);
    rq.head().reason_len = random.pick(lengths);
    if (random.percent(30))
        rq.reason.address = nowhere(random);
    else if (random.percent(50))
        rq.reason.where = random.percent(50) ? Where::ReadOnly : Where::Partly;
    return true;
}

// --------------------------------------------------------- the ioctl's number

bool number_size(Request& rq, const World&, Random& random) {
    rq.request = (rq.request & ~(_IOC_SIZEMASK << _IOC_SIZESHIFT)) |
                 static_cast<unsigned>(random.below(_IOC_SIZEMASK + 1)) << _IOC_SIZESHIFT;
    return true;
}

bool number_rest(Request& rq, const World&, Random& random) {
    const unsigned nr = _IOC_NR(rq.request), size = _IOC_SIZE(rq.request);
    const unsigned numbers[] = {
        _IOC(_IOC_NONE, TALLY_IOC_TYPE, nr, size),
        _IOC(_IOC_READ, TALLY_IOC_TYPE, nr, size),
        _IOC(_IOC_WRITE, TALLY_IOC_TYPE, nr, size),
        _IOC(_IOC_READ | _IOC_WRITE, TALLY_IOC_TYPE ^ 1, nr, size),
        _IOC(_IOC_READ | _IOC_WRITE, TALLY_IOC_TYPE, nr | 0x40, size),
        _IOC(_IOC_READ | _IOC_WRITE, TALLY_IOC_TYPE, 0xff, size),
    };
    rq.request = random.pick(numbers);
    return true;
}

// ------------------------------------------------------------------ the bytes

bool flip_byte(Request& rq, const World&, Random& random) {
    rq.bytes[random.below(rq.bytes.size())] ^= 1u << random.below(8);
    return true;
}

bool odd_word(Request& rq, const World&, Random& random) {
    if (random.percent(50))
        rq.set<uint32_t>(4 * random.below(rq.bytes.size() / 4),
                         static_cast<uint32_t>(odd_number(random)));
    else
        rq.set<uint64_t>(8 * random.below(rq.bytes.size() / 8), odd_number(random));
    return true;
}

bool padding(Request& rq, const World&, Random& random) {
    if (rq.command->pads.empty())
        return false;
    rq.set<uint32_t>(random.pick(rq.command->pads), 1u << random.below(32));
    return true;
}

// ---------------------------------------------------------------- the strings

vector<Field> strings_of(const Request& rq) {
    vector<Field> all = rq.command->strings;
    if (rq.command->names != Names::Nothing)
        all.push_back({REF, TALLY_NAME_LEN});
    return all;
}

bool endless(Request& rq, const World&, Random& random) {
    vector<Field> all = strings_of(rq);
    if (all.empty())
        return false;
    const Field f = random.pick(all);
    std::memset(rq.bytes.data() + f.at, 'x', f.len);
    return true;
}

bool odd_string(Request& rq, const World&, Random& random) {
    static const std::string texts[] = {
        "",       ".",    "..",       "control", "tmap0", "tram1",    "tnull99999",        "a/b",
        "/",      "a\nb", "\x1b[31m", "%s%n%p",  " ",     "\xff\xfe", "\xc3\xa9t\xc3\xa9", "off",
        "custom", "-1",   "native",   "a\\x20b"};
    vector<Field> all = strings_of(rq);
    if (all.empty())
        return false;
    const Field f = random.pick(all);
    put_text(reinterpret_cast<char*>(rq.bytes.data() + f.at),
             f.len - 1,
             random.percent(20) ? std::string(f.len - 1, 'y') : random.pick(texts));
    return true;
}

bool odd_ref(Request& rq, const World& w, Random& random) {
    if (rq.command->names == Names::Nothing)
        return false;
    const auto any = w.model.pick(random);
    tally_ref& ref = rq.ref();
    switch (random.below(4)) {
    case 0: // by name and by number
        ref.major = 1;
        break;
    case 1: // perhaps of the wrong kind
        put_text(ref.name, sizeof(ref.name), any ? any->name : "nobody");
        ref.major = ref.minor = 0;
        break;
    case 2:
        ref = {};
        ref.major = static_cast<uint32_t>(odd_number(random));
        ref.minor = static_cast<uint32_t>(odd_number(random));
        break;
    default:
        ref = {};
        put_text(ref.name, sizeof(ref.name), any ? any->disk : "nobody");
    }
    return true;
}

// ------------------------------------------------------------------ addresses

bool bad_structure(Request& rq, const World&, Random& random) {
    if (random.percent(30)) {
        rq.self.address = nowhere(random);
    } else if (random.percent(50)) {
        rq.self.where = Where::Partly;
        rq.self.beyond = 1 + random.below(rq.bytes.size());
    } else {
        rq.self.where = Where::ReadOnly;
    }
    return true;
}

bool bad_memory(Request& rq, const World&, Random& random) {
    vector<Slot*> all;
    if (rq.command->buf)
        all.push_back(&rq.out);
    if (rq.command->request == TALLY_MAP_LOAD)
        all.push_back(&rq.text);
    if (rq.command->request == TALLY_GEN_RUN)
        all.insert(all.end(), {&rq.cpus, &rq.threads});
    if (all.empty())
        return false;
    Slot& slot = *random.pick(all);
    slot.len = std::max<size_t>(slot.len, 16);
    if (random.percent(40)) {
        slot.address = nowhere(random);
    } else if (random.percent(60)) {
        slot.where = Where::Partly;
        slot.beyond = 1 + random.below(slot.len);
    } else {
        slot.where = Where::ReadOnly;
    }
    return true;
}

bool buffer_length(Request& rq, const World&, Random& random) {
    if (!rq.command->buf)
        return false;
    const uint32_t lengths[] = {0, 1, 7, 8, 599, 600, 601, 4096, 1u << 31, ~0u};
    rq.set<uint32_t>(rq.command->buf + 8, random.pick(lengths));
    return true;
}

bool stride(Request& rq, const World&, Random& random) {
    if (!rq.command->record_size)
        return false;
    const uint32_t sizes[] = {0, 1, 7, 9, 12, 599, 601, 4096, 4104, 1u << 31, ~7u, ~0u};
    rq.set<uint32_t>(rq.command->record_size, random.pick(sizes));
    return true;
}

bool unprivileged(Request& rq, const World&, Random&) { return rq.unprivileged = true; }

bool raced(Request& rq, const World&, Random&) { return rq.raced = true; }

// ---------------------------------------------------------------- table texts

void replace_number(std::string& text, Random& random) {
    static const std::string numbers[] = {"0",
                                          "1",
                                          "-1",
                                          "7",
                                          "0x8",
                                          "18446744073709551615",
                                          "18446744073709551616",
                                          "9223372036854775807",
                                          "36028797018963968",
                                          "4294967296",
                                          "99999999999999999999999999",
                                          "8bla",
                                          "259:4096",
                                          "4096:0",
                                          ":",
                                          "1:",
                                          ""};
    vector<size_t> starts;
    for (size_t i = 0; i < text.size(); i++)
        if (text[i] >= '0' && text[i] <= '9' && (!i || text[i - 1] < '0' || text[i - 1] > ':'))
            starts.push_back(i);
    if (starts.empty())
        return;
    const size_t at = random.pick(starts);
    const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    text.replace(at, end - at, random.pick(numbers));
}

bool table_text(Request& rq, const World& w, Random& random) {
    if (rq.command->request != TALLY_MAP_LOAD)
        return false;
    std::string& text = rq.table;
    if (text.empty())
        text = "0";
    switch (random.below(8)) {
    case 0: // cut
        text.resize(random.below(text.size() + 1));
        break;
    case 1: // garbled
        for (uint64_t n = 1 + random.below(3); n--;)
            text[random.below(text.size())] = static_cast<char>(random.next());
        break;
    case 2: // twice
        text += text;
        break;
    case 3: // comments and blanks about it
        text = "# one\n\n \t\r\n" + text + "\n#";
        break;
    case 4:
        text.insert(random.below(text.size() + 1), random.percent(50) ? " " : "\n");
        break;
    case 5: // another disk, perhaps a foreign one, perhaps itself
        if (w.foreign && random.percent(30))
            text = line(0, 8, w.foreign->number(), 0);
        else if (const auto d = w.model.pick(random))
            text = line(0, 8, d->number(), random.below(16));
        break;
    case 6: { // many lines
        const auto d = w.model.pick(random, TALLY_KIND_RAM);
        text.clear();
        for (uint64_t n = 0, end = random.below(200); d && n < end; n++)
            text += line(8 * n, 8, d->number(), 0);
        break;
    }
    default:
        replace_number(text, random);
    }
    rq.text.len = text.size();
    rq.set<uint32_t>(offsetof(tally_map_load, table_len), static_cast<uint32_t>(text.size()));
    return true;
}

bool table_length(Request& rq, const World&, Random& random) {
    if (rq.command->request != TALLY_MAP_LOAD)
        return false;
    const uint32_t lengths[] = {0, 1, TALLY_TABLE_MAX, TALLY_TABLE_MAX + 1, 1u << 31, ~0u};
    rq.set<uint32_t>(offsetof(tally_map_load, table_len), random.pick(lengths));
    return true;
}

// -------------------------------------------------------------------- numbers

bool number_field(Request& rq, const World& w, Random& random) {
    const auto odd = [&](size_t at, size_t size) {
        if (size == 8)
            rq.set<uint64_t>(at, odd_number(random));
        else
            rq.set<uint32_t>(at, static_cast<uint32_t>(odd_number(random)));
    };
    static const Field of_add[] = {{offsetof(tally_ram_add, sectors), 8},
                                   {offsetof(tally_ram_add, completion_ns), 8},
                                   {offsetof(tally_ram_add, jitter_ns), 8},
                                   {offsetof(tally_ram_add, submit_queues), 4},
                                   {offsetof(tally_ram_add, poll_queues), 4},
                                   {offsetof(tally_ram_add, depth), 4},
                                   {offsetof(tally_ram_add, max_sectors), 4},
                                   {offsetof(tally_ram_add, io_min), 4},
                                   {offsetof(tally_ram_add, io_opt), 4},
                                   {offsetof(tally_ram_add, block_size), 4},
                                   {offsetof(tally_ram_add, node), 4}};
    static const Field of_run[] = {{offsetof(tally_gen_run, nr_threads), 4},
                                   {offsetof(tally_gen_run, depth), 4},
                                   {offsetof(tally_gen_run, block_bytes), 4},
                                   {offsetof(tally_gen_run, ios), 8},
                                   {offsetof(tally_gen_run, duration_ns), 8},
                                   {offsetof(tally_gen_run, start), 8},
                                   {offsetof(tally_gen_run, span), 8}};
    if (rq.command->request == TALLY_RAM_ADD) {
        const Field& f = random.pick(of_add);
        odd(f.at, f.len);
    } else if (rq.command->request == TALLY_GEN_RUN && random.percent(20)) {
        const int fds[] = {-1, 999999, w.control, w.character};
        rq.as<tally_gen_run>().fd = random.pick(fds);
    } else if (rq.command->request == TALLY_GEN_RUN) {
        const Field& f = random.pick(of_run);
        odd(f.at, f.len);
    } else if (rq.command->request == TALLY_LIST) {
        odd(offsetof(tally_list, kind), 4);
    } else {
        return false;
    }
    return true;
}

constexpr Mutation MUTATIONS[] = {
    {"size field", size_field},
    {"dirty bytes behind", grown_dirty},
    {"version", version},
    {"flags", flags},
    {"reason's place", reason_place},
    {"ioctl number", number_rest},
    {"byte", flip_byte},
    {"word", odd_word},
    {"padding", padding},
    {"string without end", endless},
    {"string", odd_string},
    {"ref", odd_ref},
    {"structure's place", bad_structure},
    {"memory's place", bad_memory},
    {"buffer length", buffer_length},
    {"record size", stride},
    {"no capability", unprivileged},
    {"race", raced},
    {"table text", table_text},
    {"table text", table_text},
    {"table text", table_text},
    {"table length", table_length},
    {"number", number_field},
    {"number", number_field},
};

constexpr Mutation VARIATIONS[] = {
    {"zeroes behind", grown_clean},
    {"size bits", number_size},
};

} // namespace

uint64_t nowhere(Random& random) {
    // The first page, the last one below the end of user space, holes, the kernel's.
    const uint64_t addresses[] = {1,
                                  4088,
                                  0x7ffffffff000,
                                  0x800000000000,
                                  0x8000000000000000,
                                  0xffff888000000000,
                                  0xffffffff81000000,
                                  ~uint64_t{0} - 7,
                                  ~uint64_t{0}};
    return random.pick(addresses);
}

uint64_t odd_number(Random& random) {
    const uint64_t numbers[] = {0,
                                1,
                                2,
                                3,
                                7,
                                8,
                                511,
                                513,
                                1000,
                                4095,
                                4097,
                                1u << 31,
                                (1u << 31) - 1,
                                ~0u,
                                1ULL << 32,
                                1ULL << 40,
                                1ULL << 54,
                                1ULL << 55,
                                (1ULL << 63) - 1,
                                1ULL << 63,
                                ~0ULL - 7,
                                ~0ULL};
    return random.percent(80) ? random.pick(numbers) : random.next() >> random.below(64);
}

std::span<const Mutation> mutations() { return MUTATIONS; }
std::span<const Mutation> variations() { return VARIATIONS; }

} // namespace fuzz
