// SPDX-License-Identifier: GPL-2.0-or-later
// What each kernel generation is described to have counted, written anew and plainly, with nothing
// of the core but the numbers of its modes. No CPUs, no atomics: one step after another.
#pragma once

#include "disk.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

// Busy time, in jiffies. start() is told before the I/O is counted as in flight, end() before it
// is taken off, as in every generation.
class BusyModel {
public:
    virtual ~BusyModel() = default;
    virtual void start(unsigned long, unsigned /*in_flight*/) {}
    virtual void end(unsigned long, unsigned /*in_flight*/) {}
    virtual void read(unsigned long, unsigned /*in_flight*/) {}
    u64 busy = 0;
    u64 queue = 0;
};

// 4.20: part_round_stats() at start, end and read.
class Round final : public BusyModel {
public:
    explicit Round(unsigned long now) : stamp_(now) {}
    void start(unsigned long now, unsigned n) override { round(now, n); }
    void end(unsigned long now, unsigned n) override { round(now, n); }
    void read(unsigned long now, unsigned n) override { round(now, n); }

private:
    void round(unsigned long now, unsigned n) {
        if (n != 0) {
            busy += now - stamp_;
            queue += u64(n) * (now - stamp_);
        }
        stamp_ = now;
    }
    unsigned long stamp_;
};

// 5.0, 5b18b5a73760: 1 for each jiffy in which something starts or ends.
class Sampled final : public BusyModel {
public:
    explicit Sampled(unsigned long now) : stamp_(now) {}
    void start(unsigned long now, unsigned) override { sample(now); }
    void end(unsigned long now, unsigned) override { sample(now); }

private:
    void sample(unsigned long now) {
        if (std::exchange(stamp_, now) != now)
            ++busy;
    }
    unsigned long stamp_;
};

// 5.7, 2b8bd423614c: at an end, all that passed. Since 5.18, 86d7331299fd, a reader does the same
// if anything is in flight.
class Elapsed final : public BusyModel {
public:
    explicit Elapsed(unsigned long now) : stamp_(now) {}
    void start(unsigned long now, unsigned) override {
        if (std::exchange(stamp_, now) != now)
            ++busy;
    }
    void end(unsigned long now, unsigned) override { busy += now - std::exchange(stamp_, now); }
    void read(unsigned long now, unsigned n) override {
        if (n != 0)
            end(now, n);
    }

private:
    unsigned long stamp_;
};

// 6.10, 99dc422335d8: all that passed at an end, and at a start if anything was in flight.
class Checked final : public BusyModel {
public:
    explicit Checked(unsigned long now) : stamp_(now) {}
    void start(unsigned long now, unsigned n) override {
        const unsigned long passed = now - std::exchange(stamp_, now);
        if (n != 0)
            busy += passed;
    }
    void end(unsigned long now, unsigned) override { busy += now - std::exchange(stamp_, now); }
    void read(unsigned long now, unsigned n) override {
        if (n != 0)
            end(now, n);
    }

private:
    unsigned long stamp_;
};

inline std::unique_ptr<BusyModel> busy_model(unsigned ticks, unsigned long now) {
    switch (ticks) {
    case TICKS_ROUND:
        return std::make_unique<Round>(now);
    case TICKS_SAMPLED:
        return std::make_unique<Sampled>(now);
    case TICKS_ELAPSED:
        return std::make_unique<Elapsed>(now);
    case TICKS_CHECKED:
        return std::make_unique<Checked>(now);
    }
    return std::make_unique<BusyModel>();
}

// How long at least one of the intervals lasted: sorted and merged, from nothing but their ends.
inline u64 covered(std::vector<std::pair<u64, u64>> intervals) {
    std::sort(intervals.begin(), intervals.end());
    u64 sum = 0, reached = 0;
    for (auto [from, to] : intervals) {
        from = std::max(from, reached);
        if (to > from)
            sum += to - from;
        reached = std::max(reached, to);
    }
    return sum;
}

// All that is counted of a disk.
class Reference {
public:
    struct Io {
        int part;
        req_op op;
        unsigned sectors;
        unsigned long jiffy;
        u64 ns;
    };

    Reference(union tally_modes m, unsigned long now) : m_(m), model_(busy_model(m.ticks, now)) {}

    Io begin(int part, req_op op, unsigned sectors) {
        const unsigned long now = jiffies;
        const int dir = direction(op);
        model_->start(now, seen());
        mirror(part);
        if (open_[0] + open_[1] == 0)
            settled_ = now;
        ++open_[dir];
        open_since_.push_back(shim_ns);
        if (m_.inflight == INFLIGHT_PERCPU)
            for (int b : counted_on(part)) {
                // The stamp is kept for the kernel's readers: each begin of a busy period, and
                // each begin where no model moves it.
                Picture::Cells& cells = picture_.bdev[b];
                if (m_.ticks == TICKS_OFF || cells.in_flight[0] + cells.in_flight[1] == 0)
                    cells.stamp = now;
                ++cells.in_flight[dir];
            }
        note_pending(dir);
        return {part, op, sectors, now, shim_ns};
    }

    void end(const Io& io) {
        const int dir = direction(io.op), group = io.op == REQ_OP_DISCARD ? STAT_DISCARD : dir;
        model_->end(jiffies, seen());
        --open_[dir];
        closed_.emplace_back(io.ns, shim_ns);
        open_since_.erase(std::find(open_since_.begin(), open_since_.end(), io.ns));
        mirror(io.part);
        if (m_.ticks == TICKS_EXACT && (open_since_.empty() || long(jiffies - settled_) > 0))
            settle(io.part);
        for (int b : counted_on(io.part)) {
            Picture::Cells& cells = picture_.bdev[b];
            if (m_.inflight == INFLIGHT_PERCPU)
                --cells.in_flight[dir];
            if (m_.inflight != INFLIGHT_OFF) {
                ++cells.ios[group];
                cells.sectors[group] += io.sectors;
            }
            if (m_.clock == CLOCK_JIFFIES)
                cells.nsecs[group] += (jiffies - io.jiffy) * 4000000;
            else if (m_.clock == CLOCK_NS)
                cells.nsecs[group] += shim_ns - io.ns;
        }
        note_pending(dir);
    }

    void read() {
        model_->read(jiffies, seen());
        mirror(0);
    }

    // The I/Os in open are under way.
    template <class Open> Picture picture(const Open& open) const {
        Picture p = picture_;
        if (m_.inflight != INFLIGHT_OFF)
            for (int d = 0; d < 2; ++d)
                p.inflight[d] = open_[d];
        if (m_.pending != PENDING_OFF)
            p.pending = int(open_[0] + open_[1]);
        p.busy_ms = model_->busy * 4;
        p.queue_ms = model_->queue * 4;
        if (m_.ticks == TICKS_EXACT) {
            auto intervals = closed_;
            for (const auto& io : open)
                intervals.emplace_back(io.reference.ns, shim_ns);
            p.busy_ms = covered(intervals) / 1000000;
        }
        return p;
    }

    u64 busy() const { return model_->busy; }
    u64 queue() const { return model_->queue; }

private:
    static int direction(req_op op) { return op != REQ_OP_READ && op != REQ_OP_FLUSH; }

    static std::vector<int> counted_on(int part) {
        return part == 0 ? std::vector<int>{0} : std::vector<int>{part, 0};
    }

    // What the models that ask for I/Os in flight get to see.
    unsigned seen() const { return m_.inflight == INFLIGHT_OFF ? 0 : open_[0] + open_[1]; }

    // A model works per disk; what it adds goes to whom the step was on, and to the disk.
    void mirror(int part) {
        const u64 add = model_->busy - std::exchange(mirrored_, model_->busy);
        for (int b : counted_on(part)) {
            Picture::Cells& cells = picture_.bdev[b];
            if (m_.inflight != INFLIGHT_PERCPU) {
                cells.io_ticks += add;
                continue;
            }
            // What the kernel's readers may have had is left out, and the stamp moves on.
            const long since = long(jiffies - cells.stamp);
            if (add == 0 || since <= 0)
                continue;
            cells.io_ticks += std::min(add, u64(since));
            cells.stamp = jiffies;
        }
    }

    // In whole jiffies, when the disk falls idle and at the first end in a jiffy. What lies between
    // the last such point and a later stamp was credited by another.
    void settle(int part) {
        auto intervals = closed_;
        for (u64 since : open_since_)
            intervals.emplace_back(since, shim_ns);
        const u64 total = covered(intervals) / 4000000, due = total - std::min(total, exact_);
        for (int b : counted_on(part)) {
            Picture::Cells& cells = picture_.bdev[b];
            u64 had = 0;
            if (m_.inflight == INFLIGHT_PERCPU) {
                had = u64(std::max(0L, long(cells.stamp - settled_)));
                if (long(jiffies - cells.stamp) > 0)
                    cells.stamp = jiffies;
            }
            cells.io_ticks += due - std::min(due, had);
            if (b == 0)
                exact_ += std::max(due, had);
        }
        settled_ = jiffies;
    }

    void note_pending(int dir) {
        if (m_.pending == PENDING_SHARED && m_.inflight == INFLIGHT_SHARED)
            picture_.scratch[dir] = int(open_[dir]);
    }

    union tally_modes m_;
    std::unique_ptr<BusyModel> model_;
    std::array<unsigned, 2> open_{};
    std::vector<std::pair<u64, u64>> closed_; // ns
    u64 mirrored_ = 0; // of what the model counted
    u64 exact_ = 0; // the same under exact
    unsigned long settled_ = 0;
    std::vector<u64> open_since_; // ns
    Picture picture_;
};
