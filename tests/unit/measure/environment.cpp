// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/environment.hpp"

#include "catch.hpp"
#include "measure/file.hpp"

using namespace tally;
namespace fs = std::filesystem;

namespace {

// A made-up sys and proc.
class Tree {
public:
    Tree() { fs::remove_all(root_); }
    ~Tree() { fs::remove_all(root_); }
    void put(const std::string &path, const std::string &text) const {
        fs::create_directories((root_ / path).parent_path());
        write_text(root_ / path, text + "\n");
    }
    const fs::path &root() const { return root_; }

private:
    fs::path root_ = fs::absolute("environment-tree");
};

} // namespace

TEST_CASE("a guest without KVM is emulated, others are not") {
    CHECK(classify("", "Dell Inc.").name == "none");
    CHECK_FALSE(classify("", "Dell Inc.").emulated);
    CHECK(classify("TCGTCGTCGTCG", "QEMU").emulated);
    CHECK(classify("TCGTCGTCGTCG", "").accelerator == "TCG");
    CHECK_FALSE(classify("KVMKVMKVM", "QEMU").emulated);
    CHECK(classify("KVMKVMKVM", "QEMU").name == "KVM");
    CHECK(classify("", "QEMU").emulated);
    CHECK(classify("SomethingNew", "").name == "SomethingNew");
    // Without CPUID nobody can say whether KVM is there.
    CHECK_FALSE(classify(std::nullopt, "QEMU").emulated);
    CHECK(classify(std::nullopt, "QEMU").accelerator == "unknown");
    CHECK(classify(std::nullopt, "").name == "unknown");
}

TEST_CASE("the environment is read from sys and proc") {
    Tree tree;
    tree.put("proc/cmdline", "mitigations=off");
    tree.put("proc/cpuinfo", "processor\t: 0\nmodel name\t: A \"CPU\"\nmodel name\t: other");
    tree.put("sys/devices/system/cpu/online", "0-3");
    for (int cpu = 0; cpu < 4; ++cpu) {
        const std::string folder =
            "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
        tree.put(folder + "physical_package_id", "0");
        tree.put(folder + "core_id", std::to_string(cpu / 2));
    }
    tree.put("sys/devices/system/node/node0/cpulist", "0-3");
    tree.put("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected");
    tree.put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave");
    tree.put("sys/module/tally_ram/parameters/size_mb", "256");
    tree.put("sys/module/unrelated/parameters/x", "1");

    const Json json = environment(99, tree.root());
    CHECK(json["kernel"]["command_line"] == "mitigations=off");
    CHECK(json["cpu"]["model"] == "A \"CPU\"");
    CHECK(json["cpu"]["online"] == "0-3");
    CHECK(json["cpu"]["packages"] == 1);
    CHECK(json["cpu"]["cores"] == 2);
    CHECK(json["cpu"]["nodes"] == 1);
    CHECK(json["cpu"]["governor"] == "powersave");
    CHECK(json["cpu"]["mitigations"]["meltdown"] == "Not affected");
    CHECK(json["modules"]["tally_ram"]["parameters"]["size_mb"] == "256");
    CHECK_FALSE(json["modules"].contains("unrelated"));
    CHECK(json["seed"] == 99);
    CHECK_FALSE(json["revision"].get<std::string>().empty());
}

TEST_CASE("a machine that tells nothing gives nulls, not failures") {
    const Json json = environment(1, "/nowhere/at/all");
    CHECK(json["cpu"]["model"].is_null());
    CHECK(json["cpu"]["governor"].is_null());
    CHECK(json["modules"].empty());
}

TEST_CASE("JSON has no NaN, no infinity and no broken text") {
    CHECK(number(0.5) == 0.5);
    CHECK(number(std::stod("nan")).is_null());
    CHECK(number(std::stod("-inf")).is_null());
    CHECK(dump({{"x", "\xff\"\\"}}) == "{\n  \"x\": \"\xef\xbf\xbd\\\"\\\\\"\n}\n");
}
