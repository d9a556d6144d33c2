// SPDX-License-Identifier: GPL-2.0-or-later
#include "caller.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/ioctl.h>
#include <unistd.h>

#include "counts.hpp"
#include "mutation.hpp"
#include "provocation.hpp"
#include "setting.hpp"

namespace fuzz {

namespace {

// Of 100 calls.
constexpr unsigned PROVOKED = 6, SCHEDULED = 45, MUTATED_REST = 80;

const Command& weighted(Random& random) {
    unsigned sum = 0;
    for (const Command& c : commands())
        sum += c.weight;
    auto left = random.below(sum);
    for (const Command& c : commands()) {
        if (left < c.weight)
            return c;
        left -= c.weight;
    }
    return commands().front();
}

// Bytes that nobody changes under a call: addresses, and what would make it slow or large.
bool may_race(const Command& c, size_t at) {
    const auto within = [&](size_t start, size_t len) { return at >= start && at < start + len; };
    if (within(offsetof(tally_head, reason), 8) || (c.buf && within(c.buf, 8)))
        return false;
    for (uint16_t a : c.addresses)
        if (within(a, 8))
            return false;
    if (c.request == TALLY_RAM_ADD)
        return !within(offsetof(tally_ram_add, sectors), 24) &&
               !within(offsetof(tally_ram_add, submit_queues), 12);
    if (c.request == TALLY_GEN_RUN)
        return !within(offsetof(tally_gen_run, nr_threads), 12);
    return true;
}

bool untouched(std::span<const uint8_t> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b == Arena::FILL; });
}

} // namespace

const Command& Caller::choose() {
    const size_t rams = world_.model.count(TALLY_KIND_RAM);
    const size_t maps = world_.model.count(TALLY_KIND_MAP);
    if (rams < 2)
        return command(TALLY_RAM_ADD);
    if (maps < 2)
        return command(TALLY_MAP_CREATE);
    const Command* c = nullptr;
    if (random_.percent(SCHEDULED)) {
        const auto behind = world_.counts.behind();
        if (!behind.empty())
            c = random_.pick(behind);
    }
    if (!c)
        c = &weighted(random_);
    if (c->request == TALLY_RAM_ADD && rams >= Model::RAM_MAX)
        return command(TALLY_RAM_REMOVE);
    if (c->request == TALLY_MAP_CREATE && maps >= Model::MAP_MAX)
        return command(TALLY_MAP_REMOVE);
    return *c;
}

Request Caller::make() {
    if (!all_reached_ && random_.percent(PROVOKED)) {
        const auto missing = world_.counts.unreached();
        all_reached_ = missing.empty();
        if (!all_reached_) {
            const auto& [c, error] = random_.pick(missing);
            Request rq = valid_request(*c, world_, random_);
            rq.pure = false;
            provoke(rq, error, world_, random_);
            return rq;
        }
    }
    const Command& c = choose();
    const bool scheduled = static_cast<double>(world_.counts.of(c, 0)) <
                           Counts::wanted(world_.counts.calls());
    Request rq = valid_request(c, world_, random_);
    if (random_.percent(20))
        random_.pick(variations()).apply(rq, world_, random_);
    if (!scheduled && random_.percent(MUTATED_REST)) {
        rq.pure = false;
        for (uint64_t n = 1 + random_.below(2); n;)
            n -= random_.pick(mutations()).apply(rq, world_, random_);
    }
    return rq;
}

void Caller::place(Request& rq) {
    const auto put = [&](Arena& arena, const Slot& slot, size_t pointer, bool always) {
        Placed placed = arena.place(slot.len, slot.where, slot.beyond);
        rq.set<uint64_t>(pointer,
                         slot.address         ? *slot.address
                         : slot.len || always ? placed.address
                                              : 0);
        return placed;
    };
    const Command& c = *rq.command;
    at_reason_ = put(reason_, rq.reason, offsetof(tally_head, reason), false);
    if (c.buf)
        at_out_ = put(out_, rq.out, c.buf, true);
    if (c.request == TALLY_MAP_LOAD) {
        at_text_ = put(text_, rq.text, offsetof(tally_map_load, table), true);
        const size_t len = std::min(rq.table.size(), at_text_.inside.size());
        std::copy_n(rq.table.begin(), len, at_text_.inside.begin());
    }
    if (c.request == TALLY_GEN_RUN) {
        const Placed cpus = put(cpus_, rq.cpus, offsetof(tally_gen_run, cpus), false);
        const bool odd = !rq.pure && random_.percent(20);
        for (size_t i = 0; i + 4 <= cpus.inside.size(); i += 4) {
            const uint32_t cpu = odd ? 4711 : 0;
            std::memcpy(cpus.inside.data() + i, &cpu, sizeof(cpu));
        }
        put(threads_, rq.threads, offsetof(tally_gen_run, threads), false);
    }
    at_self_ = self_.place(rq.bytes.size(), rq.self.where, rq.self.beyond);
    std::copy_n(rq.bytes.begin(), at_self_.inside.size(), at_self_.inside.begin());
    if (rq.self.address)
        at_self_.address = *rq.self.address;
}

int Caller::send(Request& rq) {
    const Unprivileged here(rq.unprivileged);
    int error = 0;
    const auto call = [&] {
        activity_.begin(rq.command->name, rq.request, rq.bytes);
        const auto begin = Activity::Clock::now();
        error = ::ioctl(world_.control, rq.request, at_self_.address) ? errno : 0;
        took_ = Activity::Clock::now() - begin;
        activity_.end();
    };
    std::span<uint8_t> prey = at_self_.inside.first(rq.command->size);
    if (rq.command->request == TALLY_MAP_LOAD && !at_text_.inside.empty() && random_.percent(50))
        prey = at_text_.inside;
    size_t at = 0;
    if (rq.raced) {
        do
            at = random_.below(prey.size());
        while (prey.data() != at_text_.inside.data() && !may_race(*rq.command, at));
        static constexpr uint8_t others[] = {0, 1, 0x41, 0x7f, 0x80, 0xff};
        racer_.race(&prey[at], random_.pick(others), call);
    } else {
        call();
    }
    return error;
}

void Caller::complain(const Request& rq, int error, const char* what) {
    std::string text = std::string(rq.command->name) + ": " + errno_name(error) + ": " + what;
    const std::string reason(reinterpret_cast<const char*>(at_reason_.inside.data()),
                             ::strnlen(reinterpret_cast<const char*>(at_reason_.inside.data()),
                                       at_reason_.inside.size()));
    if (!reason.empty() && static_cast<uint8_t>(reason[0]) != Arena::FILL)
        text += " (reason: " + reason + ")";
    char hex[3];
    text += "; sent";
    for (uint8_t byte : rq.bytes) {
        std::snprintf(hex, sizeof(hex), "%02x", byte);
        text += hex;
    }
    world_.counts.complain(std::move(text));
}

void Caller::check_answer(const Request& rq) {
    const size_t field = rq.command->buf;
    const auto len = rq.get<uint32_t>(field + 8);
    uint32_t used;
    std::memcpy(&used, at_self_.inside.data() + field + 12, sizeof(used));
    const size_t written = used > len ? 0 : used;
    if (written > at_out_.inside.size() || !untouched(at_out_.inside.subspan(written)))
        complain(rq, 0, "more was written than buf_used says, or than buf_len allows");
    if (rq.command->record_size && used % rq.get<uint32_t>(rq.command->record_size))
        complain(rq, 0, "buf_used is no multiple of record_size");
}

void Caller::check_reason(const Request& rq, int error) {
    const auto len = rq.get<uint32_t>(offsetof(tally_head, reason_len));
    if (rq.reason.where != Where::Whole || rq.reason.address || len > rq.reason.len)
        return;
    if (untouched(at_reason_.inside))
        return;
    const auto room = at_reason_.inside.first(len);
    const auto end = std::find(room.begin(), room.end(), 0);
    if (!error)
        complain(rq, error, "a reason was written on success");
    else if (end == room.end())
        complain(rq, error, "the reason has no end");
    else if (!untouched(at_reason_.inside.subspan(end - room.begin() + 1)))
        complain(rq, error, "bytes behind the reason's end were written");
}

// What the header promises of every call, as far as nobody else wrote to the same bytes.
void Caller::check(const Request& rq, int error) {
    if (rq.pure && rq.command->stateless && error)
        complain(rq, error, "a valid request failed");
    if (!self_.sound(at_self_) || !reason_.sound(at_reason_) ||
        (rq.command->buf && !out_.sound(at_out_)))
        complain(rq, error, "bytes before a buffer were written");
    if (rq.raced || rq.self.where != Where::Whole || rq.self.address)
        return;
    check_reason(rq, error);
    const size_t own = rq.command->size;
    std::vector<uint8_t> wanted = rq.bytes;
    if (error == EPROTONOSUPPORT)
        reinterpret_cast<tally_head*>(wanted.data())->abi = TALLY_ABI_VERSION;
    const auto begin = at_self_.inside.begin();
    if (error) {
        if (!std::equal(wanted.begin(), wanted.end(), begin))
            complain(rq, error, "the structure was written to");
        return;
    }
    if (!std::equal(wanted.begin(), wanted.begin() + sizeof(tally_head), begin))
        complain(rq, error, "the head was written to");
    if (!std::equal(wanted.begin() + own, wanted.end(), begin + own))
        complain(rq, error, "bytes behind the structure were written to");
    if (rq.command->buf && rq.out.where == Where::Whole && !rq.out.address)
        check_answer(rq);
}

void Caller::learn(const Request& rq, int error) {
    if (error)
        return;
    if (rq.command->request == TALLY_GEN_RUN && !rq.raced && rq.self.where == Where::Whole) {
        uint32_t ended;
        std::memcpy(&ended, at_self_.inside.data() + offsetof(tally_gen_run, ended), sizeof(ended));
        if (ended == TALLY_GEN_INTERRUPTED)
            world_.counts.interrupted();
    }
    switch (rq.command->request) {
    case TALLY_RAM_ADD:
    case TALLY_RAM_REMOVE:
    case TALLY_MAP_CREATE:
    case TALLY_MAP_LOAD:
    case TALLY_MAP_RESUME:
    case TALLY_MAP_SUSPEND:
    case TALLY_MAP_REMOVE:
        world_.model.refresh();
    }
}

void Caller::one_call() {
    Request rq = make();
    if (rq.raced) { // in memory that can be written to
        rq.self = {};
        rq.text.where = Where::Whole;
        rq.text.address.reset();
    }
    tame(rq);
    place(rq);
    const int error = send(rq);
    world_.counts.add(*rq.command, error, took_);
    check(rq, error);
    learn(rq, error);
}

} // namespace fuzz
