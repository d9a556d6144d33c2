// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/accuracy.hpp"

#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "measure/file.hpp"

namespace tally {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

class RealBusyDisk final : public BusyDisk {
public:
    RealBusyDisk(Control &control, const Created &disk)
        : control_(control), disk_(disk),
          file_(File::open("/dev/" + disk.disk, O_RDONLY | O_DIRECT)) {}

    void use(const BusyModel &model) override {
        control_.set({{}, disk_.number}, "none", model.modes);
    }

    void read_block() override {
        ssize_t got;
        do
            got = pread(file_.get(), block_, sizeof block_, 0);
        while (got < 0 && errno == EINTR);
        if (got != static_cast<ssize_t>(sizeof block_))
            throw std::system_error(got < 0 ? errno : EIO, std::generic_category(), disk_.disk);
    }

    std::string stat() override {
        const std::string path = fmt::format("/sys/block/{}/tally/stat", disk_.disk);
        const auto text = read_text(path);
        if (!text)
            throw std::system_error(ENOENT, std::generic_category(), path);
        return *text;
    }

private:
    Control &control_;
    Created disk_;
    File file_;
    alignas(4096) char block_[512] = {};
};

} // namespace

std::uint32_t busy_ms(const std::string &stat) {
    constexpr int field = 10;
    std::istringstream words(stat);
    std::uint64_t value = 0;
    for (int i = 0; i < field; ++i)
        if (!(words >> value))
            throw std::runtime_error(
                fmt::format("tally/stat has no field {}: \"{}\"", field, stat));
    return static_cast<std::uint32_t>(value);
}

std::uint32_t busy_between(std::uint32_t before, std::uint32_t after) { return after - before; }

BusyFigures
measure_busy(BusyDisk &disk, const BusyModel &model, const ThinkTime &load, const Stop &stop) {
    BusyFigures figures{.model = model.name, .workload = load.name};
    disk.use(model);
    disk.read_block(); // not counted: the first one finds cold caches
    const std::uint32_t before = busy_ms(disk.stat());
    const auto begin = Clock::now();
    for (; figures.ios < load.ios && !stop.requested(); ++figures.ios) {
        const auto start = Clock::now();
        disk.read_block();
        figures.truth += milliseconds(Clock::now() - start);
        if (load.think_ns != 0)
            stop.wait(std::chrono::nanoseconds(load.think_ns));
    }
    figures.elapsed = milliseconds(Clock::now() - begin);
    figures.busy = busy_between(before, busy_ms(disk.stat()));
    return figures;
}

std::vector<BusyFigures> run_accuracy(const Accuracy &accuracy,
                                      Control &control,
                                      DeviceRig &rig,
                                      const Stop &stop,
                                      const Progress &progress) {
    std::vector<BusyFigures> results;
    try {
        for (std::size_t i = 0; i < accuracy.workloads.size() && !stop.requested(); ++i) {
            const ThinkTime &load = accuracy.workloads[i];
            RamOptions options;
            options.backing = "null";
            options.completion = "timer";
            options.completion_ns = load.completion_ns;
            options.sectors = 2048;
            RealBusyDisk disk(control, rig.add_ram(fmt::format("busy{}", i), options));
            for (const BusyModel &model : accuracy.models) {
                if (stop.requested())
                    return results;
                progress(fmt::format("busy time: {}, {}", model.name, load.name));
                results.push_back(measure_busy(disk, model, load, stop));
            }
        }
    } catch (const std::system_error &error) { // the rows that are finished stay
        if (!stop.explains(error))
            throw;
    }
    return results;
}

} // namespace tally
