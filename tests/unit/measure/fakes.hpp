// SPDX-License-Identifier: GPL-2.0-or-later
// An engine and a rig that know the truth, so that what is made of their figures can be checked.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "measure/engine.hpp"
#include "measure/rig.hpp"
#include "noise.hpp"

// Hands out arm names as paths.
class FakeRig final : public tally::Rig {
public:
    std::string enter(const tally::Arm &arm) override {
        entered.push_back(arm.name);
        if (missing.contains(arm.device))
            throw tally::Missing("no " + arm.device + " here");
        return arm.name;
    }
    std::set<std::string> missing;
    std::vector<std::string> entered;
};

// Every arm does `iops` I/Os a second, give or take the noise.
class FakeEngine final : public tally::Engine {
public:
    explicit FakeEngine(double noise = 0.0, std::uint64_t seed = 1)
        : noise_(noise), source_(seed) {}
    std::string name() const override { return "fake"; }

    tally::Result run(const tally::Job &job, const tally::Stop &stop) override {
        tally::check(job);
        jobs.push_back(job);
        if (on_run)
            on_run(jobs.size());
        const double rate = iops.contains(job.device) ? iops.at(job.device) : 1e6;
        tally::Result result;
        result.interrupted = stop.requested() || interrupted.contains(jobs.size());
        result.total.ios = job.ios != 0 ? job.ios : 100000;
        result.total.bytes = result.total.ios * job.block_bytes;
        result.total.ns = static_cast<std::uint64_t>(static_cast<double>(result.total.ios) * 1e9 /
                                                     (rate * source_(noise_)));
        result.threads.assign(job.threads, result.total);
        if (failing.contains(job.device)) {
            result.total.errors = 1;
            result.total.error = -5;
        }
        return result;
    }

    std::map<std::string, double> iops;
    std::set<std::string> failing;
    std::set<std::size_t> interrupted; // turns that a stray signal cuts short
    std::vector<tally::Job> jobs;
    std::function<void(std::size_t)> on_run;

private:
    double noise_;
    Noise source_;
};
