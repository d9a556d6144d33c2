// SPDX-License-Identifier: GPL-2.0-or-later
// The only file that knows the ioctl structures.
#include "blktally/control.hpp"

#include "blktally/error.hpp"
#include "blktally/fd.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <type_traits>

#include <blktally.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tally {

// The published layout. tests/unit/abi holds the same to C, and to 32 bits.
static_assert(sizeof(tally_head) == 24 && offsetof(tally_head, reason) == 16);
static_assert(sizeof(tally_ref) == 136 && offsetof(tally_ref, major) == 128);
static_assert(sizeof(tally_disk_info) == 600 && offsetof(tally_disk_info, switches) == 40);
static_assert(offsetof(tally_disk_info, name) == 48 && offsetof(tally_disk_info, detail) == 440);
static_assert(sizeof(tally_info) == 80 && offsetof(tally_info, features) == 40);
static_assert(sizeof(tally_list) == 48 && offsetof(tally_list, buf) == 32);
static_assert(sizeof(tally_disk_get) == 760 && offsetof(tally_disk_get, info) == 160);
static_assert(sizeof(tally_set) == 256 && offsetof(tally_set, mode) == 192);
static_assert(sizeof(tally_profile_info) == 256 && sizeof(tally_mode_info) == 184);
static_assert(sizeof(tally_records) == 48 && offsetof(tally_records, buf_used) == 44);
static_assert(sizeof(tally_ram_add) == 360 && offsetof(tally_ram_add, sectors) == 264);
static_assert(sizeof(tally_ram_set) == 256 && sizeof(tally_ram_settings) == 176);
static_assert(sizeof(tally_ram_remove) == 160 && sizeof(tally_map_op) == 160);
static_assert(sizeof(tally_map_create) == 360 && offsetof(tally_map_create, major) == 320);
static_assert(sizeof(tally_map_load) == 176 && offsetof(tally_map_load, table) == 160);
static_assert(sizeof(tally_map_table) == 176 && offsetof(tally_map_table, buf_used) == 172);
static_assert(sizeof(tally_map_deps) == 176 && sizeof(tally_dep) == 8);
static_assert(sizeof(tally_target_info) == 192 && sizeof(tally_gen_result) == 40);
static_assert(sizeof(tally_gen_run) == 144 && offsetof(tally_gen_run, total) == 96);

namespace {

constexpr const char* node = "/dev/blktally/control";

class NodePort final : public ControlPort {
public:
    explicit NodePort(Fd fd) : fd_(std::move(fd)) {}
    int call(unsigned long request, void* arg) override {
        return ioctl(fd_.get(), request, arg) < 0 ? errno : 0;
    }

private:
    Fd fd_;
};

__u64 address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// A structure with its head filled in and every other byte zero, padding included.
template <class T> T fresh(__u32 flags = 0) {
    static_assert(std::is_trivially_copyable_v<T>);
    T arg;
    std::memset(&arg, 0, sizeof(arg));
    arg.head.size = sizeof(arg);
    arg.head.abi = TALLY_ABI_VERSION;
    arg.head.flags = flags;
    return arg;
}

template <std::size_t N> std::string text_of(const char (&field)[N]) {
    return {field, strnlen(field, N)};
}

// What the kernel would say too, but with the user's own word for the field.
template <std::size_t N>
void put(char (&field)[N],
         const std::string& text,
         const char* what,
         const char* command,
         std::size_t limit = N - 1) {
    if (text.size() > limit)
        throw CommandError(ENAMETOOLONG,
                           command,
                           std::string(what) + " \"" + text + "\" is " +
                               std::to_string(text.size()) + " bytes long, the limit is " +
                               std::to_string(limit));
    if (text.find('\0') != std::string::npos)
        throw CommandError(EINVAL, command, std::string(what) + " contains a NUL byte");
    std::memcpy(field, text.data(), text.size());
}

void put(tally_ref& field, const DiskRef& ref, const char* command) {
    if (!ref.name.empty()) {
        put(field.name, ref.name, "name", command);
        return;
    }
    field.major = ref.number.major;
    field.minor = ref.number.minor;
}

const char* module_of(unsigned long request) {
    switch (_IOC_NR(request) >> 4) {
    case 1:
        return "tally_ram";
    case 2:
        return "tally_map";
    case 3:
        return "tally_gen";
    default:
        return nullptr;
    }
}

// Why, where the kernel gave no reason but the errno says it all.
std::string reason_of(int error, unsigned long request, const tally_head& head) {
    if (error == ENOTTY && module_of(request))
        return not_loaded(module_of(request));
    if (error == EPROTONOSUPPORT)
        return "the kernel modules speak version " + std::to_string(head.abi) +
               " of the control protocol, this program speaks " + std::to_string(TALLY_ABI_VERSION);
    if (error == EPERM)
        return "this needs CAP_SYS_ADMIN";
    return {};
}

template <class T>
void issue(ControlPort& port, unsigned long request, const char* command, T& arg) {
    char reason[TALLY_REASON_MAX] = {};
    arg.head.reason = address(reason);
    arg.head.reason_len = sizeof(reason);
    const int error = port.call(request, &arg);
    arg.head.reason = 0;
    arg.head.reason_len = 0;
    if (error != 0) {
        std::string why = text_of(reason);
        throw CommandError(
            error, command, why.empty() ? reason_of(error, request, arg.head) : std::move(why));
    }
}

// An answer of unknown length: asks again until the buffer holds it. It can grow between two
// calls, but not for ever.
template <class T>
std::string whole(ControlPort& port, unsigned long request, const char* command, T arg) {
    std::string buffer(16384, '\0');
    for (int round = 0; round < 32; ++round) {
        T asked = arg;
        asked.buf = address(buffer.data());
        asked.buf_len = static_cast<__u32>(buffer.size());
        issue(port, request, command, asked);
        const std::size_t room = buffer.size();
        buffer.resize(asked.buf_used);
        if (asked.buf_used <= room)
            return buffer;
        buffer.resize(asked.buf_used + asked.buf_used / 8);
    }
    throw CommandError(EAGAIN, command, "the answer grows faster than it can be read");
}

template <class Record, class T>
std::vector<Record> records(ControlPort& port, unsigned long request, const char* command, T arg) {
    if constexpr (requires { arg.record_size; })
        arg.record_size = sizeof(Record);
    const std::string bytes = whole(port, request, command, arg);
    if (bytes.size() % sizeof(Record) != 0)
        throw CommandError(EPROTO, command, "the kernel's answer ends inside a record");
    std::vector<Record> all(bytes.size() / sizeof(Record));
    if (!all.empty())
        std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
}

Modes modes_of(const char (&mode)[TALLY_AXES][TALLY_WORD_LEN]) {
    return {text_of(mode[TALLY_AXIS_INFLIGHT]),
            text_of(mode[TALLY_AXIS_PENDING]),
            text_of(mode[TALLY_AXIS_TICKS]),
            text_of(mode[TALLY_AXIS_CLOCK])};
}

std::string axis_name(__u32 axis) {
    switch (axis) {
    case TALLY_AXIS_INFLIGHT:
        return "inflight";
    case TALLY_AXIS_PENDING:
        return "pending";
    case TALLY_AXIS_TICKS:
        return "ticks";
    case TALLY_AXIS_CLOCK:
        return "clock";
    default:
        return std::to_string(axis);
    }
}

DiskInfo disk_of(const tally_disk_info& raw) {
    DiskInfo disk;
    disk.kind = static_cast<DiskKind>(raw.kind);
    disk.read_only = raw.state & TALLY_DISK_READONLY;
    disk.suspended = raw.state & TALLY_DISK_SUSPENDED;
    disk.live = raw.state & TALLY_DISK_LIVE;
    disk.inactive = raw.state & TALLY_DISK_INACTIVE;
    disk.number = {raw.major, raw.minor};
    disk.sectors = raw.sectors;
    disk.open_count = raw.open_count;
    disk.segments = raw.segments;
    disk.events = raw.events;
    disk.block_size = raw.block_size;
    disk.switches = raw.switches;
    disk.name = text_of(raw.name);
    disk.uuid = text_of(raw.uuid);
    disk.disk = text_of(raw.disk);
    disk.profile = text_of(raw.profile);
    disk.detail = text_of(raw.detail);
    disk.modes = modes_of(raw.mode);
    return disk;
}

GenCount count_of(const tally_gen_result& raw) {
    return {raw.ios, raw.bytes, raw.errors, raw.ns, raw.cpu, raw.error};
}

void map_op(ControlPort& port, unsigned long request, const char* command, const DiskRef& ref) {
    auto arg = fresh<tally_map_op>();
    put(arg.ref, ref, command);
    issue(port, request, command, arg);
}

} // namespace

CommandError::CommandError(int error, std::string command, std::string reason)
    : std::system_error(error, std::generic_category()), command_(std::move(command)),
      reason_(std::move(reason)),
      message_(reason_.empty() ? command_ + ": " + std::generic_category().message(error)
                               : reason_) {}

std::unique_ptr<ControlPort> open_control_port() {
    const int fd = open(node, O_RDWR | O_CLOEXEC);
    const int error = errno;
    if (fd < 0) {
        const bool loaded = access("/sys/module/tally_core", F_OK) == 0;
        if (error == ENOENT && loaded)
            throw Error(error,
                        std::string(node) + " is missing although tally_core is loaded: is "
                                            "devtmpfs mounted on /dev?");
        if (!loaded && (error == ENOENT || error == ENXIO || error == ENODEV))
            throw Error(error, not_loaded("tally_core"));
        throw errno_error(error, node);
    }
    Fd opened(fd);
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISCHR(st.st_mode))
        throw Error(ENXIO, std::string(node) + " is not a character device");
    return std::make_unique<NodePort>(std::move(opened));
}

Control::Control(std::unique_ptr<ControlPort> port) : port_(std::move(port)) {}
Control::~Control() = default;
Control::Control(Control&&) noexcept = default;
Control& Control::operator=(Control&&) noexcept = default;

CoreInfo Control::info() {
    auto arg = fresh<tally_info>();
    issue(*port_, TALLY_INFO, "info", arg);
    CoreInfo info;
    std::copy(std::begin(arg.version), std::end(arg.version), info.version.begin());
    info.abi = arg.head.abi;
    info.ram = arg.features & TALLY_FEATURE_RAM;
    info.map = arg.features & TALLY_FEATURE_MAP;
    info.gen = arg.features & TALLY_FEATURE_GEN;
    info.name_max = arg.name_max;
    info.uuid_max = arg.uuid_max;
    info.table_max = arg.table_max;
    info.segments_max = arg.segments_max;
    info.depth_max = arg.depth_max;
    info.gen_threads_max = arg.gen_threads_max;
    info.gen_depth_max = arg.gen_depth_max;
    info.gen_block_max = arg.gen_block_max;
    return info;
}

std::vector<DiskInfo> Control::list(DiskKind kind) {
    auto arg = fresh<tally_list>();
    arg.kind = static_cast<__u32>(kind);
    std::vector<DiskInfo> disks;
    for (const auto& raw : records<tally_disk_info>(*port_, TALLY_LIST, "list", arg))
        disks.push_back(disk_of(raw));
    return disks;
}

DiskInfo Control::disk(const DiskRef& ref) {
    auto arg = fresh<tally_disk_get>();
    put(arg.ref, ref, "disk");
    issue(*port_, TALLY_DISK_GET, "disk", arg);
    return disk_of(arg.info);
}

void Control::set(const DiskRef& ref, const std::string& profile, const Modes& modes) {
    auto arg = fresh<tally_set>();
    put(arg.ref, ref, "set");
    put(arg.profile, profile, "profile", "set");
    put(arg.mode[TALLY_AXIS_INFLIGHT], modes.inflight, "inflight", "set");
    put(arg.mode[TALLY_AXIS_PENDING], modes.pending, "pending", "set");
    put(arg.mode[TALLY_AXIS_TICKS], modes.ticks, "ticks", "set");
    put(arg.mode[TALLY_AXIS_CLOCK], modes.clock, "clock", "set");
    issue(*port_, TALLY_SET, "set", arg);
}

std::vector<ProfileInfo> Control::profiles() {
    std::vector<ProfileInfo> profiles;
    for (const auto& raw :
         records<tally_profile_info>(*port_, TALLY_PROFILES, "profiles", fresh<tally_records>()))
        profiles.push_back({text_of(raw.name), text_of(raw.about), modes_of(raw.mode)});
    return profiles;
}

std::vector<ModeInfo> Control::modes() {
    std::vector<ModeInfo> modes;
    for (const auto& raw :
         records<tally_mode_info>(*port_, TALLY_MODES, "modes", fresh<tally_records>()))
        modes.push_back({axis_name(raw.axis), text_of(raw.name), text_of(raw.about)});
    return modes;
}

namespace {

std::uint32_t flags_of(const RamOptions& options) {
    const std::pair<bool, std::uint32_t> flags[] = {
        {options.read_only, TALLY_RAM_READONLY},
        {options.rotational, TALLY_RAM_ROTATIONAL},
        {options.no_discard, TALLY_RAM_NO_DISCARD},
        {options.virt_boundary, TALLY_RAM_VIRT_BOUNDARY},
        {options.shared_tags, TALLY_RAM_MQ_SHARED_TAGS},
        {options.tag_bitmap, TALLY_RAM_MQ_TAG_BITMAP},
        {options.no_sched, TALLY_RAM_MQ_NO_SCHED},
        {options.blocking, TALLY_RAM_MQ_BLOCKING},
        {options.per_node, TALLY_RAM_MQ_PER_NODE},
    };
    std::uint32_t all = 0;
    for (const auto& [set, flag] : flags)
        all |= set ? flag : 0;
    return all;
}

} // namespace

Created Control::ram_add(const RamOptions& options) {
    auto arg = fresh<tally_ram_add>(flags_of(options));
    put(arg.name, options.name, "name", "ram add");
    put(arg.profile, options.profile, "profile", "ram add");
    put(arg.backing, options.backing, "backing", "ram add");
    put(arg.store, options.store, "store", "ram add");
    put(arg.queue, options.queue, "queue", "ram add");
    put(arg.completion, options.completion, "completion", "ram add");
    put(arg.jitter, options.jitter, "jitter", "ram add");
    arg.sectors = options.sectors;
    arg.completion_ns = options.completion_ns;
    arg.jitter_ns = options.jitter_ns;
    arg.submit_queues = options.submit_queues;
    arg.poll_queues = options.poll_queues;
    arg.depth = options.depth;
    arg.max_sectors = options.max_sectors;
    arg.io_min = options.io_min;
    arg.io_opt = options.io_opt;
    arg.block_size = options.block_size;
    arg.node = options.node;
    issue(*port_, TALLY_RAM_ADD, "ram add", arg);
    return {{arg.major, arg.minor}, text_of(arg.disk)};
}

void Control::ram_set(const DiskRef& ref, const std::string& setting, const std::string& value) {
    auto arg = fresh<tally_ram_set>();
    put(arg.ref, ref, "ram set");
    put(arg.setting, setting, "setting", "ram set");
    put(arg.value, value, "value", "ram set");
    issue(*port_, TALLY_RAM_SET, "ram set", arg);
}

std::vector<std::pair<std::string, std::string>> Control::ram_settings(const DiskRef& ref) {
    auto arg = fresh<tally_ram_settings>();
    put(arg.ref, ref, "ram show");
    std::vector<std::pair<std::string, std::string>> settings;
    std::istringstream lines(whole(*port_, TALLY_RAM_SETTINGS, "ram show", arg));
    for (std::string name, value; lines >> name && std::getline(lines >> std::ws, value);)
        settings.emplace_back(name, value);
    return settings;
}

void Control::ram_remove(const DiskRef& ref, bool force) {
    auto arg = fresh<tally_ram_remove>(force ? TALLY_RAM_FORCE : 0);
    put(arg.ref, ref, "ram remove");
    issue(*port_, TALLY_RAM_REMOVE, "ram remove", arg);
}

Created Control::map_create(const std::string& name,
                            const std::string& uuid,
                            const std::string& profile,
                            bool read_only) {
    auto arg = fresh<tally_map_create>(read_only ? TALLY_MAP_READONLY : 0);
    put(arg.name, name, "name", "create");
    put(arg.uuid, uuid, "uuid", "create", TALLY_UUID_MAX);
    put(arg.profile, profile, "profile", "create");
    issue(*port_, TALLY_MAP_CREATE, "create", arg);
    return {{arg.major, arg.minor}, text_of(arg.disk)};
}

void Control::map_load(const DiskRef& ref, const std::string& table, bool read_only) {
    if (table.size() > TALLY_TABLE_MAX)
        throw CommandError(E2BIG,
                           "load",
                           "table is " + std::to_string(table.size()) +
                               " bytes long, the limit is " + std::to_string(TALLY_TABLE_MAX));
    auto arg = fresh<tally_map_load>(read_only ? TALLY_MAP_READONLY : 0);
    put(arg.ref, ref, "load");
    arg.table = address(table.data());
    arg.table_len = static_cast<__u32>(table.size());
    issue(*port_, TALLY_MAP_LOAD, "load", arg);
}

void Control::map_resume(const DiskRef& ref) { map_op(*port_, TALLY_MAP_RESUME, "resume", ref); }
void Control::map_suspend(const DiskRef& ref) { map_op(*port_, TALLY_MAP_SUSPEND, "suspend", ref); }
void Control::map_clear(const DiskRef& ref) { map_op(*port_, TALLY_MAP_CLEAR, "clear", ref); }
void Control::map_remove(const DiskRef& ref) { map_op(*port_, TALLY_MAP_REMOVE, "remove", ref); }

std::string Control::map_table(const DiskRef& ref, bool inactive, bool status) {
    auto arg = fresh<tally_map_table>((inactive ? TALLY_TABLE_INACTIVE : 0) |
                                      (status ? TALLY_TABLE_STATUS : 0));
    const char* command = status ? "status" : "table";
    put(arg.ref, ref, command);
    return whole(*port_, TALLY_MAP_TABLE, command, arg);
}

std::vector<DeviceNumber> Control::map_deps(const DiskRef& ref, bool inactive) {
    auto arg = fresh<tally_map_deps>(inactive ? TALLY_TABLE_INACTIVE : 0);
    put(arg.ref, ref, "deps");
    std::vector<DeviceNumber> deps;
    for (const auto& raw : records<tally_dep>(*port_, TALLY_MAP_DEPS, "deps", arg))
        deps.push_back({raw.major, raw.minor});
    return deps;
}

std::vector<TargetInfo> Control::map_targets() {
    std::vector<TargetInfo> targets;
    for (const auto& raw :
         records<tally_target_info>(*port_, TALLY_MAP_TARGETS, "targets", fresh<tally_records>()))
        targets.push_back({text_of(raw.name),
                           text_of(raw.about),
                           {raw.version[0], raw.version[1], raw.version[2]}});
    return targets;
}

GenResult Control::gen_run(const GenJob& job) {
    if (!job.cpus.empty() && job.cpus.size() != job.threads)
        throw CommandError(EINVAL,
                           "gen",
                           std::to_string(job.cpus.size()) + " CPUs are given for " +
                               std::to_string(job.threads) + " threads");
    if (job.threads > TALLY_GEN_THREADS_MAX)
        throw CommandError(EINVAL,
                           "gen",
                           std::to_string(job.threads) + " threads are asked for, the limit is " +
                               std::to_string(TALLY_GEN_THREADS_MAX));
    if (job.duration.count() < 0)
        throw CommandError(EINVAL, "gen", "the duration is negative");
    auto arg = fresh<tally_gen_run>((job.write ? TALLY_GEN_WRITE : 0) |
                                    (job.random ? TALLY_GEN_RANDOM : 0) |
                                    (job.force ? TALLY_GEN_FORCE : 0));
    std::vector<tally_gen_result> threads(job.threads);
    arg.fd = job.fd;
    arg.nr_threads = job.threads;
    arg.depth = job.depth;
    arg.block_bytes = job.block_bytes;
    arg.ios = job.ios;
    arg.duration_ns = static_cast<__u64>(job.duration.count());
    arg.start = job.start;
    arg.span = job.span;
    arg.seed = job.seed;
    arg.cpus = job.cpus.empty() ? 0 : address(job.cpus.data());
    arg.threads = address(threads.data());
    issue(*port_, TALLY_GEN_RUN, "gen", arg);

    GenResult result;
    result.total = count_of(arg.total);
    std::transform(threads.begin(), threads.end(), std::back_inserter(result.threads), count_of);
    result.interrupted = arg.ended & TALLY_GEN_INTERRUPTED;
    return result;
}

} // namespace tally
