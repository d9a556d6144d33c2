// SPDX-License-Identifier: GPL-2.0-or-later
// Suspend, resume, and tables that cut the same sectors in another way, under I/O.
//
// A thread that has suspended a map does nothing that waits for I/O before it resumes it: what is
// above the map may be what it would wait for.
#include <exception>

#include "run.hpp"
#include "text.hpp"

namespace tally::torture {
namespace {

class Tables {
public:
    Tables(Run& run, Random random)
        : run_(run), random_(random), control_(open_control_port()), maps_(run.rig.maps()) {}

    void work() {
        while (!run_.report.stopped()) {
            Device& map = *maps_[random_.below(maps_.size())];
            if (random_.below(2) == 0) {
                Activity::mine().doing("its turn at", map.name.c_str());
                const std::unique_lock alone(map.tables);
                pause(map, true);
            } else {
                Activity::mine().doing("its turn at", map.name.c_str());
                const std::shared_lock among_others(map.tables);
                in_any_order(map);
            }
            nap(random_.below(60));
        }
    }

private:
    // What leaves the map suspended leaves its I/O waiting for ever.
    class Suspended {
    public:
        Suspended(Tables& tables, Device& map) : tables_(tables), map_(map) { tables.suspend(map); }
        ~Suspended() {
            try {
                tables_.resume(map_);
            } catch (const std::exception& error) {
                tables_.run_.report.fail(map_.name + ": resume: " + error.what());
            }
        }
        Suspended(const Suspended&) = delete;
        Suspended& operator=(const Suspended&) = delete;

    private:
        Tables& tables_;
        Device& map_;
    };

    void suspend(Device& map) {
        const Timed timed(run_.report, Span::suspend, "suspend of", map.name.c_str());
        control_.map_suspend(map.ref());
        run_.report.add(Count::suspends);
    }

    void resume(Device& map) {
        const Timed timed(run_.report, Span::resume, "resume of", map.name.c_str());
        control_.map_resume(map.ref());
    }

    void load(Device& map) {
        const Timed timed(run_.report, Span::load, "load of", map.name.c_str());
        control_.map_load(map.ref(), Rig::table(map, random_), false);
        run_.report.add(Count::loads);
    }

    void pause(Device& map, bool alone) {
        const Suspended suspended(*this, map);
        const bool waiting = map.outstanding > 0;
        const std::string before = alone ? counted(map) : "";
        if (random_.below(3) == 0)
            load(map);
        nap(random_.below(40));
        if (alone && (!control_.disk(map.ref()).suspended || counted(map) != before))
            run_.report.fail(map.name + ": goes on while suspended: " + before + ", then " +
                             counted(map));
        if (waiting && map.outstanding > 0)
            run_.report.add(Count::suspends_waited_for);
    }

    // I/Os that have ended, and in flight.
    static std::string counted(const Device& map) {
        const auto stat = numbers(read_file(map.sysfs() + "/tally/stat"));
        std::string text = read_file(map.sysfs() + "/tally/inflight");
        for (const std::size_t field : {0, 4, 11})
            text += " " + std::to_string(stat.at(field));
        return text;
    }

    void in_any_order(Device& map) {
        switch (random_.below(5)) {
        case 0:
            return pause(map, false);
        case 1: // another thread may have made it live already
            load(map);
            control_.map_clear(map.ref());
            return;
        case 2: { // both are idempotent
            const Suspended suspended(*this, map);
            suspend(map);
            load(map);
            return;
        }
        default:
            load(map);
            return resume(map);
        }
    }

    Run& run_;
    Random random_;
    Control control_;
    std::vector<Device*> maps_;
};

} // namespace

void change_tables(Run& run, Random random) { Tables(run, random).work(); }

} // namespace tally::torture
