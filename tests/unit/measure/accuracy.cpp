// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/accuracy.hpp"

#include <csignal>

#include "catch.hpp"

using namespace tally;

namespace {

// Busy time goes up by `step` with each I/O.
class FakeDisk final : public BusyDisk {
public:
    FakeDisk(std::uint32_t start, std::uint32_t step) : busy_(start), step_(step) {}
    void use(const BusyModel &model) override { model_ = model.name; }
    void read_block() override { busy_ += step_; }
    std::string stat() override {
        return "1 2 3 4 5 6 7 8 9 " + std::to_string(busy_) + " 11 12 13 14 15 16 17";
    }
    std::string model_;

private:
    std::uint32_t busy_, step_;
};

} // namespace

TEST_CASE("busy time is field 10") {
    CHECK(busy_ms("1 2 3 4 5 6 7 8 9 10 11") == 10);
    CHECK_THROWS(busy_ms("1 2 3 4 5 6 7 8 9"));
    CHECK_THROWS(busy_ms(""));
}

TEST_CASE("a difference holds across the wrap of 32 bits") {
    CHECK(busy_between(4294967000U, 200) == 496);
    CHECK(busy_between(5, 5) == 0);
}

TEST_CASE("model and truth come from the same I/Os") {
    FakeDisk disk(4294967290U, 4);
    const Stop stop;
    const BusyFigures figures = measure_busy(disk, {"sampled", {}}, {"load", 0, 1000, 10}, stop);
    CHECK(disk.model_ == "sampled");
    CHECK(figures.ios == 10);
    CHECK(figures.busy == 40); // the first I/O is not counted, the wrap does not matter
    CHECK(figures.truth >= 0.0);
    CHECK(figures.truth < figures.elapsed);
}

TEST_CASE("a stop ends it") {
    FakeDisk disk(0, 1);
    Stop stop;
    stop.request(SIGINT);
    CHECK(measure_busy(disk, {"exact", {}}, {"load", 0, 1000, 10}, stop).ios == 0);
}
