// SPDX-License-Identifier: GPL-2.0-or-later
// The rig against a kernel that only keeps a list: what it makes, and that it takes all of it down.
#include "measure/device_rig.hpp"

#include <algorithm>
#include <cerrno>
#include <string>

#include "blktally.h"
#include "catch.hpp"

using namespace tally;

namespace {

// Shared with the test, for Control owns the port.
struct Kernel {
    std::vector<std::string> log, disks;
    unsigned long refused = 0;     // a command that fails…
    int error = EIO, times = 1000; // …so, and so often
};

class FakePort final : public ControlPort {
public:
    explicit FakePort(Kernel &kernel) : kernel_(kernel) {}

    int call(unsigned long request, void *arg) override {
        if (request == kernel_.refused && kernel_.times-- > 0)
            return kernel_.error;
        if (request == TALLY_RAM_ADD)
            return add(*static_cast<tally_ram_add *>(arg), "tram");
        if (request == TALLY_MAP_CREATE)
            return add(*static_cast<tally_map_create *>(arg), "tmap");
        if (request == TALLY_RAM_REMOVE)
            return remove(static_cast<tally_ram_remove *>(arg)->ref.name);
        if (request == TALLY_MAP_REMOVE)
            return remove(static_cast<tally_map_op *>(arg)->ref.name);
        if (request == TALLY_SET) {
            const auto &set = *static_cast<tally_set *>(arg);
            note("set " + suffix(set.ref.name) + " " + set.profile + " " +
                 set.mode[TALLY_AXIS_INFLIGHT]);
        }
        if (request == TALLY_MAP_LOAD) {
            const auto &load = *static_cast<tally_map_load *>(arg);
            note("load " + std::string(reinterpret_cast<const char *>(load.table), load.table_len));
        }
        return 0;
    }

private:
    static std::string suffix(const std::string &name) {
        return name.substr(name.find_last_of('-') + 1);
    }
    void note(const std::string &text) { kernel_.log.push_back(text); }

    template <typename Add> int add(Add &request, const std::string &prefix) {
        kernel_.disks.push_back(request.name);
        note("add " + suffix(request.name));
        request.major = 259;
        request.minor = static_cast<unsigned>(kernel_.disks.size());
        const std::string disk = prefix + "0";
        std::copy(disk.begin(), disk.end(), request.disk);
        return 0;
    }
    int remove(const std::string &name) {
        note("remove " + suffix(name));
        return std::erase(kernel_.disks, name) == 1 ? 0 : ENXIO;
    }

    Kernel &kernel_;
};

struct Bench {
    Kernel kernel;
    Control control{std::make_unique<FakePort>(kernel)};

    static Arm arm(const std::string &device, const std::string &profile, const Modes &modes = {}) {
        Arm arm;
        arm.device = device;
        arm.profile = profile;
        arm.modes = modes;
        return arm;
    }
};

} // namespace

TEST_CASE("arms on one device share it and differ in modes alone") {
    Bench bench;
    {
        DeviceRig rig(bench.control, 1 << 20);
        CHECK(rig.enter(Bench::arm("linear", "linux-5.0")) == "/dev/tmap0");
        CHECK(rig.enter(Bench::arm("ram", "", {"shared", "", "", ""})) == "/dev/tram0");
        rig.enter(Bench::arm("linear", "linux-5.0"));
        rig.enter(Bench::arm("linear", "linux-4.20"));
    }
    const std::vector<std::string> expected{
        "add ram",
        "add linear",
        "load 0 2048 linear 259:1 0\n",
        "set ram none ",
        "set linear linux-5.0 ",
        "set ram none shared", // the profile first, then the axis
        "set ram none ",       // what lies under linear is out of the way again
        "set linear linux-4.20 ",
        "remove linear",
        "remove ram",
    };
    CHECK(bench.kernel.log == expected);
    CHECK(bench.kernel.disks.empty());
}

TEST_CASE("the disk under linear counts what the arm says, else nothing") {
    Bench bench;
    DeviceRig rig(bench.control, 1 << 20);
    Arm arm = Bench::arm("linear", "linux-4.20");
    arm.lower = "linux-4.20";
    rig.enter(arm);
    rig.enter(Bench::arm("linear", "linux-5.0"));
    const std::vector<std::string> expected{"set ram linux-4.20 ",
                                            "set linear linux-4.20 ",
                                            "set ram none ",
                                            "set linear linux-5.0 "};
    CHECK(std::vector<std::string>(bench.kernel.log.begin() + 3, bench.kernel.log.end()) ==
          expected);
}

TEST_CASE("whatever the kernel refuses, nothing stays behind") {
    for (unsigned long request :
         {TALLY_RAM_ADD, TALLY_MAP_CREATE, TALLY_MAP_LOAD, TALLY_MAP_RESUME, TALLY_SET}) {
        Bench bench;
        bench.kernel.refused = request;
        {
            DeviceRig rig(bench.control, 1 << 20);
            CHECK_THROWS_AS(rig.enter(Bench::arm("linear", "none")), CommandError);
        }
        CHECK(bench.kernel.disks.empty());
    }
}

TEST_CASE("removing is tried again while a disk is busy, and a failure is told") {
    Bench bench;
    DeviceRig rig(bench.control, 1 << 20);
    rig.enter(Bench::arm("ram", "none"));
    bench.kernel.refused = TALLY_RAM_REMOVE;
    bench.kernel.error = EBUSY;
    bench.kernel.times = 2;
    CHECK(rig.close().empty());
    CHECK(bench.kernel.disks.empty());

    rig.enter(Bench::arm("ram", "none"));
    bench.kernel.error = ENODEV;
    bench.kernel.times = 1;
    const std::vector<std::string> failures = rig.close();
    REQUIRE(failures.size() == 1);
    CHECK(failures[0].find("cannot remove tallybench-") == 0);
}

TEST_CASE("what the destructor cannot remove is told") {
    Bench bench;
    std::vector<std::string> told;
    {
        DeviceRig rig(
            bench.control, 1 << 20, [&](const std::string &text) { told.push_back(text); });
        rig.enter(Bench::arm("ram", "none"));
        bench.kernel.refused = TALLY_RAM_REMOVE;
    }
    REQUIRE(told.size() == 1);
    CHECK(told[0].find("cannot remove tallybench-") == 0);
}

TEST_CASE("a kind of device that nobody knows is missing") {
    Bench bench;
    DeviceRig rig(bench.control, 1 << 20);
    CHECK_THROWS_AS(rig.enter(Bench::arm("floppy", "none")), Missing);
}
