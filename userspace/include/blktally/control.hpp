// SPDX-License-Identifier: GPL-2.0-or-later
// The commands of /dev/blktally/control as C++ values. lib/control.cpp is the only file that knows
// the ioctl structures; everything above it speaks in the types below.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace tally {

// The one seam between the library and the kernel. Tests put their own behind it.
class ControlPort {
public:
    virtual ~ControlPort() = default;
    // Like ioctl(2), but returns 0 or a positive errno.
    virtual int call(unsigned long request, void* arg) = 0;
};

// Opens the control node. Throws std::system_error (ENOENT: tally_core is not loaded; EACCES).
std::unique_ptr<ControlPort> open_control_port();

// A command the kernel refused: code() is the errno, what() the kernel's reason in plain words
// where it gave one.
class CommandError : public std::system_error {
public:
    CommandError(int error, std::string command, std::string reason);
    const char* what() const noexcept override { return message_.c_str(); }
    const std::string& command() const noexcept { return command_; }
    const std::string& reason() const noexcept { return reason_; }

private:
    std::string command_;
    std::string reason_;
    std::string message_;
};

struct DeviceNumber {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    auto operator<=>(const DeviceNumber&) const = default;
};

// A disk of ours by name, or, with an empty name, by number.
struct DiskRef {
    std::string name;
    DeviceNumber number{};
};

// One word per axis; empty means "leave as it is" in requests.
struct Modes {
    std::string inflight, pending, ticks, clock;
};

enum class DiskKind : std::uint32_t { any = 0, ram = 1, map = 2 };

struct DiskInfo {
    DiskKind kind{};
    bool read_only = false, suspended = false, live = false, inactive = false;
    DeviceNumber number;
    std::uint64_t sectors = 0; // 512 bytes
    std::uint32_t open_count = 0, segments = 0, events = 0, block_size = 0;
    std::uint64_t switches = 0;
    std::string name, uuid, disk, profile, detail;
    Modes modes;
};

struct CoreInfo {
    std::array<std::uint32_t, 3> version{};
    std::uint32_t abi = 0;
    bool ram = false, map = false, gen = false; // whose commands are there
    std::uint32_t name_max = 0, uuid_max = 0, table_max = 0, segments_max = 0, depth_max = 0;
    std::uint32_t gen_threads_max = 0, gen_depth_max = 0, gen_block_max = 0;
};

struct ProfileInfo {
    std::string name, about;
    Modes modes;
};

struct ModeInfo {
    std::string axis, name, about; // axis: "inflight", "pending", "ticks", "clock"
};

struct TargetInfo {
    std::string name, about;
    std::array<std::uint32_t, 3> version{};
};

// Empty words and numbers of 0: the kernel's default.
struct RamOptions {
    std::string name; // empty: the kernel's disk name
    std::string profile, backing, store, queue, completion, jitter;
    std::uint64_t sectors = 0, completion_ns = 0, jitter_ns = 0;
    std::uint32_t block_size = 0;
    std::int32_t node = -1;
    std::uint32_t io_min = 0, io_opt = 0; // bytes
    bool read_only = false, rotational = false, no_discard = false;
    // Of queue "mq":
    std::uint32_t submit_queues = 0, poll_queues = 0, depth = 0, max_sectors = 0;
    bool virt_boundary = false;
    bool shared_tags = false, tag_bitmap = false, no_sched = false, blocking = false,
         per_node = false;
};

struct Created {
    DeviceNumber number;
    std::string disk;
};

struct GenJob {
    int fd = -1;
    std::uint32_t threads = 1, depth = 1, block_bytes = 512;
    std::uint64_t ios = 0; // per thread, 0: no limit
    std::chrono::nanoseconds duration{0};
    std::uint64_t start = 0, span = 0; // sectors
    std::uint64_t seed = 0;
    std::vector<std::uint32_t> cpus; // empty: in turn
    bool write = false, random = false, force = false;
};

struct GenCount {
    std::uint64_t ios = 0, bytes = 0, errors = 0, ns = 0;
    std::uint32_t cpu = 0;
    int error = 0;
};

struct GenResult {
    GenCount total;
    std::vector<GenCount> threads;
    bool interrupted = false;
};

// Every method is one command; each throws CommandError when the kernel refuses.
class Control {
public:
    explicit Control(std::unique_ptr<ControlPort> port);
    ~Control();
    Control(Control&&) noexcept;
    Control& operator=(Control&&) noexcept;

    CoreInfo info();
    std::vector<DiskInfo> list(DiskKind kind = DiskKind::any);
    DiskInfo disk(const DiskRef& ref);
    void set(const DiskRef& ref, const std::string& profile, const Modes& modes);
    std::vector<ProfileInfo> profiles();
    std::vector<ModeInfo> modes();

    Created ram_add(const RamOptions& options);
    void ram_remove(const DiskRef& ref, bool force);
    void ram_set(const DiskRef& ref, const std::string& setting, const std::string& value);
    // Names and values, in the kernel's order.
    std::vector<std::pair<std::string, std::string>> ram_settings(const DiskRef& ref);

    Created map_create(const std::string& name,
                       const std::string& uuid,
                       const std::string& profile,
                       bool read_only);
    void map_load(const DiskRef& ref, const std::string& table, bool read_only);
    void map_resume(const DiskRef& ref);
    void map_suspend(const DiskRef& ref);
    void map_clear(const DiskRef& ref);
    void map_remove(const DiskRef& ref);
    std::string map_table(const DiskRef& ref, bool inactive, bool status);
    std::vector<DeviceNumber> map_deps(const DiskRef& ref, bool inactive);
    std::vector<TargetInfo> map_targets();

    GenResult gen_run(const GenJob& job);

private:
    std::unique_ptr<ControlPort> port_;
};

// Loads what is missing of tally_core, tally_ram, tally_map, tally_gen (libkmod; from
// $BLKTALLY_MODDIR, the build tree, then /lib/modules). Throws std::system_error naming the module.
void load_modules(const std::vector<std::string>& names);

} // namespace tally
