// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/environment.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <set>
#include <sstream>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "measure/file.hpp"
#include "revision.hpp"

namespace tally {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries(const fs::path &folder) {
    std::error_code ignored;
    std::vector<fs::path> paths;
    for (const auto &entry : fs::directory_iterator(folder, ignored))
        paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    return paths;
}

Json text_or_null(const fs::path &path) {
    const auto text = read_text(path);
    return text ? Json(*text) : Json(nullptr);
}

std::optional<std::string> signature() {
#if defined(__x86_64__) || defined(__i386__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned hypervisor_bit = 1U << 31;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & hypervisor_bit) == 0)
        return "";
    __cpuid(0x40000000, a, b, c, d);
    std::array<char, 13> text{};
    std::memcpy(text.data(), &b, 4);
    std::memcpy(text.data() + 4, &c, 4);
    std::memcpy(text.data() + 8, &d, 4);
    return std::string(text[0] != '\0' ? text.data() : "unnamed");
#else
    return std::nullopt;
#endif
}

Json kernel(const fs::path &root) {
    utsname name{};
    uname(&name);
    return {{"release", name.release},
            {"version", name.version},
            {"machine", name.machine},
            {"command_line", text_or_null(root / "proc/cmdline")}};
}

// The first value of a key in /proc/cpuinfo.
Json cpu_field(const fs::path &root, std::initializer_list<const char *> keys) {
    std::istringstream lines(read_text(root / "proc/cpuinfo").value_or(""));
    for (std::string line; std::getline(lines, line);)
        for (const std::string key : keys)
            if (const auto colon = line.find(':'); line.starts_with(key) && colon != line.npos)
                return line.substr(std::min(colon + 2, line.size()));
    return nullptr;
}

Json cpu(const fs::path &root) {
    const fs::path folder = root / "sys/devices/system/cpu";
    std::set<std::string> packages, cores;
    for (const fs::path &path : entries(folder)) {
        const auto package = read_text(path / "topology/physical_package_id");
        const auto core = read_text(path / "topology/core_id");
        if (!package || !core)
            continue;
        packages.insert(*package);
        cores.insert(*package + ":" + *core);
    }
    Json mitigations = Json::object();
    for (const fs::path &path : entries(folder / "vulnerabilities"))
        mitigations[path.filename().string()] = text_or_null(path);
    std::size_t nodes = 0;
    for (const fs::path &path : entries(root / "sys/devices/system/node")) {
        const std::string name = path.filename();
        nodes += name.starts_with("node") && name.find_first_not_of("0123456789", 4) == name.npos;
    }
    return {{"model", cpu_field(root, {"model name", "Model", "cpu model"})},
            {"online", text_or_null(folder / "online")},
            {"packages", packages.size()},
            {"cores", cores.size()},
            {"nodes", nodes},
            {"governor", text_or_null(folder / "cpu0/cpufreq/scaling_governor")},
            {"mitigations", mitigations}};
}

// Those that can have had a part in the measurement, with their parameters.
Json modules(const fs::path &root) {
    constexpr std::array names{"tally_core",
                               "tally_ram",
                               "tally_map",
                               "tally_gen",
                               "tally_floor",
                               "brd",
                               "null_blk",
                               "dm_mod"};
    Json result = Json::object();
    for (const char *name : names) {
        const fs::path folder = root / "sys/module" / name;
        std::error_code ignored;
        if (!fs::is_directory(folder, ignored))
            continue;
        Json parameters = Json::object();
        for (const fs::path &path : entries(folder / "parameters"))
            parameters[path.filename().string()] = text_or_null(path);
        result[name] = {{"version", text_or_null(folder / "version")},
                        {"srcversion", text_or_null(folder / "srcversion")},
                        {"parameters", parameters}};
    }
    return result;
}

} // namespace

Hypervisor classify(const std::optional<std::string> &told, const std::string &vendor) {
    struct Known {
        const char *signature, *name;
    };
    constexpr std::array known{Known{"KVMKVMKVM", "KVM"},
                               Known{"Microsoft Hv", "Hyper-V"},
                               Known{"VMwareVMware", "VMware"},
                               Known{"XenVMMXenVMM", "Xen"}};
    const bool qemu = vendor.find("QEMU") != vendor.npos;
    if (!told)
        return {qemu ? "QEMU" : "unknown", "unknown", false};
    const std::string &signature = *told;
    if (signature == "TCGTCGTCGTCG")
        return {"QEMU", "TCG", true};
    for (const Known &entry : known)
        if (signature == entry.signature)
            return {entry.name, "hardware", false};
    if (signature.empty() && !qemu)
        return {"none", "hardware", false};
    // QEMU that hides its name runs the guest's instructions itself unless KVM answers above.
    return qemu ? Hypervisor{"QEMU", "TCG", true} : Hypervisor{signature, "hardware", false};
}

Hypervisor hypervisor() {
    return classify(signature(), read_text("/sys/class/dmi/id/sys_vendor").value_or(""));
}

Json environment(std::uint64_t seed, const fs::path &root) {
    const Hypervisor guest = hypervisor();
    const auto now =
        std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
    return {
        {"time", fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)))},
        {"kernel", kernel(root)},
        {"cpu", cpu(root)},
        {"hypervisor", {{"name", guest.name}, {"accelerator", guest.accelerator}}},
        {"emulated", guest.emulated},
        {"modules", modules(root)},
        {"version", source_version},
        {"revision", source_revision},
        {"seed", seed}};
}

} // namespace tally
