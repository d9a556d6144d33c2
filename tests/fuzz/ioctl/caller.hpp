// SPDX-License-Identifier: GPL-2.0-or-later
// One thread that makes calls: chooses, spoils, sends, looks at what came back.
#pragma once

#include "neighbours.hpp"

namespace fuzz {

class Caller {
public:
    Caller(const World& world, Racer& racer, uint64_t seed)
        : world_(world), racer_(racer), random_(seed) {}

    void one_call();
    const Activity& activity() const { return activity_; }

private:
    const Command& choose();
    Request make();
    void place(Request& rq);
    int send(Request& rq);
    void check(const Request& rq, int error);
    void check_answer(const Request& rq);
    void check_reason(const Request& rq, int error);
    void complain(const Request& rq, int error, const char* what);
    void learn(const Request& rq, int error);

    World world_;
    Racer& racer_;
    Random random_;
    Activity activity_;
    bool all_reached_ = false;
    Activity::Clock::duration took_{}; // the last call

    Arena self_{2}, reason_{1}, out_{5}, text_{40}, cpus_{1}, threads_{1};
    Placed at_self_, at_reason_, at_out_;
    Placed at_text_;
};

} // namespace fuzz
