// SPDX-License-Identifier: GPL-2.0-or-later
#include "blktally/control.hpp"
#include "blktally/error.hpp"

#include "catch.hpp"
#include "fake_kernel.hpp"

using namespace tally;

namespace {

Control control_of(FakeKernel& kernel) { return Control(std::make_unique<FakePort>(kernel)); }

template <class Call> CommandError refused(Call call) {
    try {
        call();
    } catch (const CommandError& error) {
        return error;
    }
    FAIL("the command was not refused");
    std::abort();
}

} // namespace

TEST_CASE("every command keeps the protocol") {
    FakeKernel kernel;
    Control control = control_of(kernel);
    CHECK(control.info().version == std::array<std::uint32_t, 3>{0, 1, 0});
    CHECK(control.info().map);
    Created created = control.map_create("a", "u", "", true);
    CHECK(created.disk == "tmap0");
    CHECK(created.number == DeviceNumber{1, 3});
    DiskRef ref{"a", {}};
    control.map_load(ref, "0 8 linear 8:0 0", false);
    CHECK(control.disk(ref).inactive);
    CHECK(control.map_table(ref, true, false) == "0 8 linear 8:0 0\n");
    CHECK(control.map_table(ref, false, false).empty());
    control.map_resume(ref);
    CHECK(control.disk(ref).live);
    control.map_suspend(ref);
    CHECK(control.disk({"", {1, 3}}).suspended);
    control.map_load(ref, "0 8 linear 8:16 0", true);
    control.map_clear(ref);
    CHECK_FALSE(control.disk(ref).inactive);
    CHECK(control.map_deps(ref, false) == std::vector<DeviceNumber>{{8, 0}, {8, 16}});
    CHECK(control.map_targets().at(0).name == "linear");
    CHECK(control.profiles().at(0).modes.ticks == "sampled");
    CHECK(control.modes().at(0).axis == "ticks");
    control.set(ref, "linux-5.0", {"percpu", "", "", "ns"});
    CHECK(kernel.last_profile == "linux-5.0");
    CHECK(kernel.last_modes == std::vector<std::string>{"percpu", "", "", "ns"});
    control.map_remove(ref);
    CHECK(control.list().empty());

    RamOptions ram;
    ram.sectors = 8;
    ram.node = 1;
    CHECK(control.ram_add(ram).disk == "tram0");
    CHECK(kernel.last_ram.node == 1);
    CHECK(control.list(DiskKind::ram).size() == 1);
    CHECK(control.list(DiskKind::map).empty());
    control.ram_remove({"tram0", {}}, true);

    GenJob job;
    job.threads = 2;
    job.ios = 1;
    job.cpus = {0, 1};
    GenResult result = control.gen_run(job);
    CHECK(result.interrupted);
    CHECK(result.total.ios == 3);
    CHECK(result.threads.at(1).ios == 2);
    CHECK(kernel.last_gen.cpus != 0);
}

TEST_CASE("an answer that outgrows its buffer is asked for again") {
    FakeKernel kernel;
    for (int i = 0; i < 100; ++i) // 60,000 bytes, more than the first buffer
        kernel.add(TALLY_KIND_MAP, "disk" + std::to_string(i));
    Control control = control_of(kernel);
    CHECK(control.list().size() == 100);
    kernel.growth = 5;
    CHECK(control.list().at(99).name == "disk99");
    CHECK(kernel.growth == 0);

    DiskRef ref{"disk7", {}};
    std::string table;
    for (int i = 0; i < 10000; ++i)
        table += std::to_string(i) + " 1 linear 8:0 0\n";
    control.map_load(ref, table, false);
    CHECK(control.map_table(ref, true, false) == table);
}

TEST_CASE("an answer that always grows ends in an error") {
    FakeKernel kernel;
    kernel.growth = 1000000;
    Control control = control_of(kernel);
    CHECK(refused([&] { control.list(); }).code().value() == EAGAIN);
}

TEST_CASE("what() is the kernel's reason") {
    FakeKernel kernel;
    kernel.failing[_IOC_NR(TALLY_MAP_RESUME)] = EINVAL;
    kernel.reason = "no table";
    Control control = control_of(kernel);
    CommandError error = refused([&] { control.map_resume({"a", {}}); });
    CHECK(error.what() == std::string("no table"));
    CHECK(error.code().value() == EINVAL);
    CHECK(error.command() == "resume");

    kernel.reason = std::string(1000, 'x');
    CHECK(refused([&] { control.map_resume({"a", {}}); }).reason().size() == TALLY_REASON_MAX - 1);

    kernel.reason.clear();
    CHECK(refused([&] {
              control.map_resume({"a", {}});
          }).what() == std::string("resume: Invalid argument"));
}

TEST_CASE("refusals that say it all with their errno") {
    FakeKernel kernel;
    kernel.features = 0;
    Control control = control_of(kernel);
    CHECK(refused([&] { control.map_targets(); }).reason() == not_loaded("tally_map"));
    CHECK(refused([&] { control.gen_run({}); }).reason() == not_loaded("tally_gen"));
    CHECK(not_loaded("tally_gen").starts_with("tally_gen is not loaded; try: modprobe "));
    kernel.abi = 7;
    CommandError error = refused([&] { control.info(); });
    CHECK(error.code().value() == EPROTONOSUPPORT);
    CHECK(error.reason().find("version 7") != std::string::npos);
}

TEST_CASE("what does not fit is refused before the kernel is asked") {
    FakeKernel kernel;
    Control control = control_of(kernel);
    auto error = refused([&] { control.map_create(std::string(128, 'n'), "", "", false); });
    CHECK(error.code().value() == ENAMETOOLONG);
    CHECK(error.reason().find("128") != std::string::npos);
    CHECK(error.reason().find("127") != std::string::npos);
    CHECK(refused([&] { control.map_create("n", std::string(129, 'u'), "", false); })
              .code()
              .value() == ENAMETOOLONG);
    CHECK(refused([&] { control.map_create(std::string("a\0b", 3), "", "", false); })
              .code()
              .value() == EINVAL);
    CHECK(refused([&] {
              control.map_load({"a", {}}, std::string(TALLY_TABLE_MAX + 1, ' '), false);
          })
              .code()
              .value() == E2BIG);
    GenJob job;
    job.threads = 2;
    job.cpus = {0};
    CHECK(refused([&] { control.gen_run(job); }).code().value() == EINVAL);
    job.cpus.clear();
    job.threads = TALLY_GEN_THREADS_MAX + 1;
    CHECK(refused([&] { control.gen_run(job); }).code().value() == EINVAL);
    CHECK(kernel.commands.empty());
    control.map_create(std::string(127, 'n'), std::string(128, 'u'), "", false);
    CHECK(control.list().at(0).uuid.size() == 128);
}
