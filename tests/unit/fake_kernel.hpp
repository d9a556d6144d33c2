// SPDX-License-Identifier: GPL-2.0-or-later
// The other side of the ControlPort. It keeps the protocol of blktally.h to the letter: sizes, ABI
// version, flags and padding are refused as the kernel refuses them, and buf_used is the whole.
#pragma once

#include "blktally/control.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <blktally.h>

struct FakeDisk {
    tally_disk_info info;
    std::string live, inactive;
};

struct FakeKernel {
    std::vector<FakeDisk> disks;
    std::map<unsigned, int> failing; // command number -> errno
    std::string reason;              // given with a failure
    std::vector<unsigned> commands;  // numbers, in order
    std::uint64_t features = TALLY_FEATURE_RAM | TALLY_FEATURE_MAP | TALLY_FEATURE_GEN;
    std::uint32_t abi = TALLY_ABI_VERSION;
    unsigned growth = 0; // how often the next answers outgrow the buffer they are offered
    std::string last_profile;
    std::vector<std::string> last_modes;
    tally_ram_add last_ram{};
    tally_gen_run last_gen{};

    FakeDisk* find(const tally_ref& ref) {
        for (FakeDisk& disk : disks)
            if (ref.name[0] ? std::strcmp(disk.info.name, ref.name) == 0
                            : disk.info.major == ref.major && disk.info.minor == ref.minor)
                return &disk;
        return nullptr;
    }

    FakeDisk& add(std::uint32_t kind, const std::string& name, const std::string& uuid = "") {
        FakeDisk disk;
        std::memset(&disk.info, 0, sizeof(disk.info));
        disk.info.kind = kind;
        // The device number of /dev/null, so that links can lead somewhere.
        disk.info.major = 1;
        disk.info.minor = 3;
        disk.info.block_size = 512;
        std::string kernel_name =
            (kind == TALLY_KIND_MAP ? "tmap" : "tram") + std::to_string(disks.size());
        std::memcpy(disk.info.disk, kernel_name.data(), kernel_name.size());
        const std::string& shown = name.empty() ? kernel_name : name;
        std::memcpy(disk.info.name, shown.data(), shown.size());
        std::memcpy(disk.info.uuid, uuid.data(), uuid.size());
        std::strcpy(disk.info.profile, "none");
        for (auto& mode : disk.info.mode)
            std::strcpy(mode, "off");
        disks.push_back(disk);
        return disks.back();
    }
};

class FakePort final : public tally::ControlPort {
public:
    explicit FakePort(FakeKernel& kernel) : kernel_(kernel) {}

    int call(unsigned long request, void* arg) override {
        const unsigned nr = _IOC_NR(request);
        kernel_.commands.push_back(nr);
        if (_IOC_TYPE(request) != TALLY_IOC_TYPE || _IOC_DIR(request) != (_IOC_READ | _IOC_WRITE))
            return ENOTTY;
        auto* head = static_cast<tally_head*>(arg);
        if (head->size != _IOC_SIZE(request))
            return EINVAL;
        if (head->abi != kernel_.abi) {
            head->abi = kernel_.abi;
            return EPROTONOSUPPORT;
        }
        if (auto failure = kernel_.failing.find(nr); failure != kernel_.failing.end())
            return refuse(*head, failure->second, kernel_.reason);
        return dispatch(nr, arg);
    }

private:
    static int refuse(tally_head& head, int error, const std::string& why) {
        if (head.reason && head.reason_len && !why.empty()) {
            std::size_t length = std::min<std::size_t>(why.size(), head.reason_len - 1);
            char* reason = reinterpret_cast<char*>(head.reason);
            std::memcpy(reason, why.data(), length);
            reason[length] = '\0';
        }
        return error;
    }

    template <class T> int answer(T& arg, std::string bytes) {
        if (kernel_.growth) {
            --kernel_.growth;
            arg.buf_used = arg.buf_len + 8192;
            return 0;
        }
        arg.buf_used = static_cast<__u32>(bytes.size());
        if (bytes.size() <= arg.buf_len)
            std::memcpy(reinterpret_cast<char*>(arg.buf), bytes.data(), bytes.size());
        return 0;
    }

    template <class Record> static void append(std::string& bytes, const Record& record) {
        bytes.append(reinterpret_cast<const char*>(&record), sizeof(record));
    }

    template <class T, class Use> int with_disk(void* raw, __u32 flags, Use use) {
        auto& arg = *static_cast<T*>(raw);
        if (arg.head.flags & ~flags)
            return EINVAL;
        FakeDisk* disk = kernel_.find(arg.ref);
        if (!disk)
            return refuse(arg.head, ENXIO, "no such disk");
        return use(arg, *disk);
    }

    static int resume(FakeDisk& disk) {
        if (!disk.inactive.empty()) {
            disk.live = std::exchange(disk.inactive, "");
            disk.info.events++;
            disk.info.segments =
                static_cast<__u32>(std::count(disk.live.begin(), disk.live.end(), '\n'));
            disk.info.state |= TALLY_DISK_LIVE;
            disk.info.state &= ~TALLY_DISK_INACTIVE;
        }
        if (disk.live.empty())
            return EINVAL;
        disk.info.state &= ~TALLY_DISK_SUSPENDED;
        return 0;
    }

    int dispatch(unsigned nr, void* raw) {
        auto feature = nr >> 4 == 1   ? TALLY_FEATURE_RAM
                       : nr >> 4 == 2 ? TALLY_FEATURE_MAP
                       : nr >> 4 == 3 ? TALLY_FEATURE_GEN
                                      : 0;
        if (feature && !(kernel_.features & feature))
            return ENOTTY;
        switch (nr) {
        case _IOC_NR(TALLY_INFO): {
            auto& arg = *static_cast<tally_info*>(raw);
            if (arg.pad || arg.head.flags)
                return EINVAL;
            arg.version[1] = 1;
            arg.features = kernel_.features;
            arg.name_max = TALLY_NAME_LEN - 1;
            arg.uuid_max = TALLY_UUID_MAX;
            arg.table_max = TALLY_TABLE_MAX;
            return 0;
        }
        case _IOC_NR(TALLY_LIST): {
            auto& arg = *static_cast<tally_list*>(raw);
            if (arg.record_size != sizeof(tally_disk_info))
                return EINVAL;
            std::string bytes;
            for (const FakeDisk& disk : kernel_.disks)
                if (arg.kind == TALLY_KIND_ANY || arg.kind == disk.info.kind)
                    append(bytes, disk.info);
            return answer(arg, bytes);
        }
        case _IOC_NR(TALLY_DISK_GET):
            return with_disk<tally_disk_get>(raw, 0, [](auto& arg, FakeDisk& disk) {
                arg.info = disk.info;
                return 0;
            });
        case _IOC_NR(TALLY_SET):
            return with_disk<tally_set>(raw, 0, [this](auto& arg, FakeDisk&) {
                kernel_.last_profile = arg.profile;
                kernel_.last_modes.clear();
                for (auto& mode : arg.mode)
                    kernel_.last_modes.emplace_back(mode);
                return 0;
            });
        case _IOC_NR(TALLY_PROFILES):
        case _IOC_NR(TALLY_MODES):
        case _IOC_NR(TALLY_MAP_TARGETS): {
            auto& arg = *static_cast<tally_records*>(raw);
            if (arg.pad || arg.head.flags)
                return EINVAL;
            std::string bytes;
            if (nr == _IOC_NR(TALLY_PROFILES)) {
                tally_profile_info info{"linux-5.0", {"percpu", "off", "sampled", "jiffies"}, "p"};
                append(bytes, info);
            } else if (nr == _IOC_NR(TALLY_MODES)) {
                tally_mode_info info{TALLY_AXIS_TICKS, 0, "sampled", "m"};
                append(bytes, info);
            } else {
                tally_target_info info{"linear", {1, 2, 3}, 0, "t"};
                append(bytes, info);
            }
            if (bytes.size() != arg.record_size)
                return EINVAL;
            return answer(arg, bytes);
        }
        case _IOC_NR(TALLY_RAM_ADD): {
            auto& arg = *static_cast<tally_ram_add*>(raw);
            if (arg.head.flags & ~(TALLY_RAM_FLAGS) || !arg.sectors || arg.major || arg.disk[0])
                return EINVAL;
            kernel_.last_ram = arg;
            FakeDisk& disk = kernel_.add(TALLY_KIND_RAM, arg.name);
            disk.info.sectors = arg.sectors;
            return made(arg, disk);
        }
        case _IOC_NR(TALLY_RAM_REMOVE):
            return with_disk<tally_ram_remove>(raw, TALLY_RAM_FORCE, [this](auto&, FakeDisk& disk) {
                return disk.info.kind == TALLY_KIND_RAM ? erase(disk) : ENODEV;
            });
        case _IOC_NR(TALLY_RAM_SET):
            return with_disk<tally_ram_set>(raw, 0, [this](auto& arg, FakeDisk& disk) {
                if (disk.info.kind != TALLY_KIND_RAM)
                    return ENODEV;
                if (std::strcmp(arg.setting, "size") != 0)
                    return refuse(arg.head, EINVAL, "no such setting");
                disk.info.sectors = std::strtoull(arg.value, nullptr, 10) / 512;
                return 0;
            });
        case _IOC_NR(TALLY_RAM_SETTINGS):
            return with_disk<tally_ram_settings>(raw, 0, [this](auto& arg, FakeDisk& disk) {
                return answer(arg, "size " + std::to_string(disk.info.sectors * 512) + "\n");
            });
        case _IOC_NR(TALLY_MAP_CREATE): {
            auto& arg = *static_cast<tally_map_create*>(raw);
            if (arg.head.flags & ~TALLY_MAP_READONLY || arg.major || arg.minor || arg.disk[0])
                return EINVAL;
            for (FakeDisk& disk : kernel_.disks)
                if (std::strcmp(disk.info.name, arg.name) == 0)
                    return refuse(arg.head, EEXIST, "the name is taken");
            FakeDisk& disk = kernel_.add(TALLY_KIND_MAP, arg.name, arg.uuid);
            disk.info.state = TALLY_DISK_SUSPENDED;
            return made(arg, disk);
        }
        case _IOC_NR(TALLY_MAP_LOAD):
            return with_disk<tally_map_load>(
                raw, TALLY_MAP_READONLY, [](auto& arg, FakeDisk& disk) {
                    if (arg.pad || !arg.table_len)
                        return EINVAL;
                    disk.inactive.assign(reinterpret_cast<const char*>(arg.table), arg.table_len);
                    if (disk.inactive.back() != '\n')
                        disk.inactive += '\n';
                    disk.info.state |= TALLY_DISK_INACTIVE;
                    return 0;
                });
        case _IOC_NR(TALLY_MAP_RESUME):
            return with_disk<tally_map_op>(
                raw, 0, [](auto&, FakeDisk& disk) { return resume(disk); });
        case _IOC_NR(TALLY_MAP_SUSPEND):
            return with_disk<tally_map_op>(raw, 0, [](auto&, FakeDisk& disk) {
                disk.info.state |= TALLY_DISK_SUSPENDED;
                return 0;
            });
        case _IOC_NR(TALLY_MAP_CLEAR):
            return with_disk<tally_map_op>(raw, 0, [](auto&, FakeDisk& disk) {
                disk.inactive.clear();
                disk.info.state &= ~TALLY_DISK_INACTIVE;
                return 0;
            });
        case _IOC_NR(TALLY_MAP_REMOVE):
            return with_disk<tally_map_op>(raw, 0, [this](auto&, FakeDisk& disk) {
                return disk.info.kind == TALLY_KIND_MAP ? erase(disk) : ENODEV;
            });
        case _IOC_NR(TALLY_MAP_TABLE):
            return with_disk<tally_map_table>(
                raw, TALLY_TABLE_INACTIVE | TALLY_TABLE_STATUS, [this](auto& arg, FakeDisk& disk) {
                    return answer(
                        arg, arg.head.flags & TALLY_TABLE_INACTIVE ? disk.inactive : disk.live);
                });
        case _IOC_NR(TALLY_MAP_DEPS):
            return with_disk<tally_map_deps>(
                raw, TALLY_TABLE_INACTIVE, [this](auto& arg, FakeDisk&) {
                    std::string bytes;
                    append(bytes, tally_dep{8, 0});
                    append(bytes, tally_dep{8, 16});
                    return answer(arg, bytes);
                });
        case _IOC_NR(TALLY_GEN_RUN): {
            auto& arg = *static_cast<tally_gen_run*>(raw);
            if (arg.pad || arg.ended)
                return EINVAL;
            kernel_.last_gen = arg;
            auto* threads = reinterpret_cast<tally_gen_result*>(arg.threads);
            for (unsigned i = 0; i < arg.nr_threads; ++i)
                threads[i] = {i + 1, 512, 0, 1000, i, 0};
            arg.total.ios = 3;
            arg.ended = TALLY_GEN_INTERRUPTED;
            return 0;
        }
        default:
            return ENOTTY;
        }
    }

    template <class T> static int made(T& arg, const FakeDisk& disk) {
        arg.major = disk.info.major;
        arg.minor = disk.info.minor;
        std::memcpy(arg.disk, disk.info.disk, sizeof(arg.disk));
        return 0;
    }

    int erase(FakeDisk& gone) {
        kernel_.disks.erase(kernel_.disks.begin() + (&gone - kernel_.disks.data()));
        return 0;
    }

    FakeKernel& kernel_;
};
