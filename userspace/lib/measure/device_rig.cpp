// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/device_rig.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure/file.hpp"
#include "measure/process.hpp"

namespace tally {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t sector = 512;

std::string device_path(const std::string &disk) { return "/dev/" + disk; }

std::string number_text(const DeviceNumber &number) {
    return fmt::format("{}:{}", number.major, number.minor);
}

bool module_there(const std::string &name) { return fs::exists("/sys/module/" + name); }

// Runs a tool; what it said is the reason when it fails.
std::string require(const std::vector<std::string> &arguments) {
    const Finished finished = run_process(arguments);
    if (finished.status != 0)
        throw Missing(fmt::format("{} (status {})",
                                  finished.output.empty() ? arguments.front() : finished.output,
                                  finished.status));
    return finished.output;
}

// Taking down is tried again for a while, whatever the tool's reason was.
void require_removal(const std::vector<std::string> &arguments) {
    const Finished finished = run_process(arguments);
    if (finished.status != 0)
        throw std::system_error(EBUSY, std::generic_category(), finished.output);
}

// brd answers reads of what was never written without a look at any page; ours has all its pages
// from the start. So the peer is written to once.
void fill(const std::string &path, std::uint64_t bytes) {
    const File file = File::open(path, O_WRONLY);
    const std::vector<char> block(1 << 20, '\x5a');
    for (std::uint64_t at = 0; at < bytes; at += block.size()) {
        const std::size_t length = std::min<std::uint64_t>(block.size(), bytes - at);
        if (pwrite(file.get(), block.data(), length, static_cast<off_t>(at)) !=
            static_cast<ssize_t>(length))
            throw std::system_error(errno, std::generic_category(), path);
    }
    if (fsync(file.get()) != 0)
        throw std::system_error(errno, std::generic_category(), path);
}

// udev and blkid open a new disk for a moment, and a signal may come while the kernel waits:
// removing may have to be tried again.
void retry_removal(const std::function<void()> &action) {
    using namespace std::chrono_literals;
    for (auto left = 40;; --left) {
        try {
            return action();
        } catch (const std::system_error &error) {
            const bool passing = error.code() == std::errc::device_or_resource_busy ||
                                 error.code() == std::errc::interrupted;
            if (left == 0 || !passing)
                throw;
        }
        std::this_thread::sleep_for(50ms);
    }
}

} // namespace

const std::vector<DeviceRig::Kind> &DeviceRig::kinds() {
    static const std::vector<Kind> table{
        {"null", &DeviceRig::make_null},
        {"null-mq", &DeviceRig::make_null_mq},
        {"ram", &DeviceRig::make_ram},
        {"linear", &DeviceRig::make_linear},
        {"dm-linear", &DeviceRig::make_dm_linear},
        {"brd", &DeviceRig::make_brd},
        {"null_blk", &DeviceRig::make_null_blk},
        {"floor-empty", &DeviceRig::make_floor_empty},
        {"floor-remap", &DeviceRig::make_floor_remap},
    };
    return table;
}

DeviceRig::DeviceRig(Control &control, std::uint64_t bytes, Tell tell)
    : control_(control), bytes_(bytes), tell_(std::move(tell)) {}

DeviceRig::~DeviceRig() {
    try {
        for (const std::string &failure : close())
            if (tell_)
                tell_(failure);
    } catch (...) { // there is nobody left to tell
    }
}

std::vector<std::string> DeviceRig::close() {
    std::vector<std::string> failures;
    for (; !steps_.empty(); steps_.pop_back()) {
        try {
            retry_removal(steps_.back().action);
        } catch (const std::exception &error) {
            failures.push_back(
                fmt::format("cannot remove {}: {}", steps_.back().what, error.what()));
        }
    }
    made_.clear();
    modes_.clear();
    ram_ = {};
    return failures;
}

void DeviceRig::undo(const std::string &what, std::function<void()> action) {
    steps_.push_back({what, std::move(action)});
}

std::string DeviceRig::leftovers() {
    return fmt::format("disks and mapped devices named tallybench-{}-*, the modules brd, null_blk "
                       "and tally_floor",
                       getpid());
}

std::string DeviceRig::name_of(const std::string &suffix) const {
    return fmt::format("tallybench-{}-{}", getpid(), suffix);
}

const DeviceRig::Made &DeviceRig::made(const std::string &kind) {
    if (const auto found = made_.find(kind); found != made_.end())
        return found->second;
    for (const Kind &candidate : kinds()) {
        if (kind != candidate.name)
            continue;
        Made device;
        try {
            device = (this->*candidate.make)();
        } catch (const Missing &reason) {
            device.missing = reason.what();
        }
        return made_[kind] = device;
    }
    throw Missing(fmt::format("there is no kind of device \"{}\"", kind));
}

std::string DeviceRig::enter(const Arm &arm) {
    const Made device = made(arm.device);
    if (!device.missing.empty())
        throw Missing(device.missing);
    // What lies under the measured disk stays out of the way unless the arm says what it counts;
    // the arm's own modes come last.
    if (arm.device != "ram" && !ram_.disk.empty())
        switch_modes(name_of("ram"), arm.lower.empty() ? "none" : arm.lower, {});
    for (const std::string &name : device.ours)
        switch_modes(name, arm.profile.empty() ? "none" : arm.profile, arm.modes);
    return device.path;
}

void DeviceRig::switch_modes(const std::string &disk,
                             const std::string &profile,
                             const Modes &modes) {
    const std::string wanted = fmt::format(
        "{} {} {} {} {}", profile, modes.inflight, modes.pending, modes.ticks, modes.clock);
    std::string &current = modes_[disk];
    if (current == wanted)
        return;
    current.clear(); // unknown, should the kernel refuse
    control_.set({disk, {}}, profile, modes);
    current = wanted;
}

Created DeviceRig::add_ram(const std::string &suffix, RamOptions options) {
    options.name = name_of(suffix);
    const Created created = control_.ram_add(options);
    undo(options.name, [this, name = options.name] { control_.ram_remove({name, {}}, false); });
    return created;
}

DeviceRig::Made DeviceRig::make_null() {
    RamOptions options;
    options.backing = "null";
    options.sectors = bytes_ / sector;
    return {device_path(add_ram("null", options).disk), {name_of("null")}, {}};
}

// With null_blk's defaults: one queue and one to be polled (two have no scheduler), 64 requests
// each, completed in softirq.
DeviceRig::Made DeviceRig::make_null_mq() {
    RamOptions options;
    options.backing = "null";
    options.sectors = bytes_ / sector;
    options.queue = "mq";
    options.poll_queues = 1;
    options.completion = "softirq";
    return {device_path(add_ram("null-mq", options).disk), {name_of("null-mq")}, {}};
}

DeviceRig::Made DeviceRig::make_ram() {
    RamOptions options;
    options.store = "flat";
    options.sectors = bytes_ / sector;
    ram_ = add_ram("ram", options);
    return {device_path(ram_.disk), {name_of("ram")}, {}};
}

DeviceRig::Made DeviceRig::make_linear() {
    made("ram");
    const std::string name = name_of("linear");
    const Created created = control_.map_create(name, "", "none", false);
    undo(name, [this, name] { control_.map_remove({name, {}}); });
    control_.map_load({name, {}},
                      fmt::format("0 {} linear {} 0\n", bytes_ / sector, number_text(ram_.number)),
                      false);
    control_.map_resume({name, {}});
    return {device_path(created.disk), {name}, {}};
}

// Both dm-linear and our linear claim their lower disk, so the peer gets one of the same kind.
DeviceRig::Made DeviceRig::make_dm_linear() {
    if (!module_there("dm_mod"))
        require({"modprobe", "dm_mod"});
    RamOptions options;
    options.store = "flat";
    options.sectors = bytes_ / sector;
    const Created lower = add_ram("dm-ram", options);
    const std::string name = name_of("dm");
    const std::string table =
        fmt::format("0 {} linear {} 0", bytes_ / sector, number_text(lower.number));
    require({"dmsetup", "create", name, "--noudevsync", "--table", table});
    undo(name, [name] { require_removal({"dmsetup", "remove", "--noudevsync", "--retry", name}); });
    const std::string disk =
        require({"dmsetup", "info", "-c", "--noheadings", "-o", "blkdevname", name});
    return {device_path(disk), {}, {}};
}

// Loads a stock module. One that is there already is not ours: neither what its disk is like nor
// what lies on it is known.
void DeviceRig::load_peer(const std::string &module, const std::vector<std::string> &parameters) {
    if (module_there(module))
        throw Missing(module + " was loaded before, with other parameters");
    std::vector<std::string> command{"modprobe", module};
    command.insert(command.end(), parameters.begin(), parameters.end());
    require(command);
    undo(module, [module] { require_removal({"modprobe", "-r", module}); });
}

DeviceRig::Made DeviceRig::make_brd() {
    const std::string path = "/dev/ram0";
    load_peer("brd",
              {"rd_nr=1", fmt::format("rd_size={}", (bytes_ + 1023) / 1024), "max_part=1"});
    if (!fs::exists(path))
        throw Missing("brd is there, but " + path + " is not");
    fill(path, bytes_);
    return {path, {}, {}};
}

DeviceRig::Made DeviceRig::make_null_blk() {
    const std::string path = "/dev/nullb0";
    load_peer("null_blk", {"nr_devices=1", "queue_mode=2"});
    if (!fs::exists(path))
        throw Missing("null_blk is there, but " + path + " is not");
    return {path, {}, {}};
}

// The floors: throw-away disks of a test module that only measurements load.
void DeviceRig::load_floor() {
    if (module_there("tally_floor"))
        return;
    const char *folder = std::getenv("BLKTALLY_MODDIR");
    if (folder == nullptr)
        throw Missing("tally_floor is not loaded, and BLKTALLY_MODDIR does not say where it is");
    const fs::path found = [&]() -> fs::path {
        for (const char *place : {"tally_floor.ko", "tests/perf/floor/tally_floor.ko"})
            if (fs::exists(fs::path(folder) / place))
                return fs::path(folder) / place;
        throw Missing(fmt::format("there is no tally_floor.ko in {}", folder));
    }();
    RamOptions options;
    options.store = "flat";
    options.sectors = bytes_ / sector;
    const std::string remap = "remap=" + number_text(add_ram("floor-ram", options).number);
    const File module = File::open(found, O_RDONLY);
    if (syscall(SYS_finit_module, module.get(), remap.c_str(), 0) != 0)
        throw Missing(
            fmt::format("{}: {}", found.string(), std::generic_category().message(errno)));
    undo("tally_floor", [] {
        if (syscall(SYS_delete_module, "tally_floor", O_NONBLOCK) != 0)
            throw std::system_error(
                errno == EAGAIN ? EBUSY : errno, std::generic_category(), "tally_floor");
    });
}

DeviceRig::Made DeviceRig::make_floor_empty() {
    load_floor();
    if (!fs::exists("/dev/tfloor_empty"))
        throw Missing("tally_floor is loaded, but /dev/tfloor_empty is not there");
    return {"/dev/tfloor_empty", {}, {}};
}

DeviceRig::Made DeviceRig::make_floor_remap() {
    load_floor();
    if (!fs::exists("/dev/tfloor_remap"))
        throw Missing("tally_floor is loaded, but /dev/tfloor_remap is not there");
    return {"/dev/tfloor_remap", {}, {}};
}

} // namespace tally
