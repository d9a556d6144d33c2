// SPDX-License-Identifier: GPL-2.0-or-later
// Command lines against a fake kernel: exit status, output, and what is left behind.
#include "app.hpp"

#include "blktally/error.hpp"
#include "catch.hpp"
#include "fake_kernel.hpp"
#include "temporary.hpp"

#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace tally;
namespace fs = std::filesystem;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

namespace {

struct Run {
    int status;
    std::string out, err;
};

struct Host {
    FakeKernel kernel;
    Temporary root;
    std::string links = root.path() + "/blktally";
    Words loaded;
    int open_error = 0;

    Host() {
        fs::create_directory(links);
        for (int i = 0; i < 8; ++i)
            for (auto kind : {"/tmap", "/tram"})
                fs::create_symlink("/dev/null", root.path() + kind + std::to_string(i));
    }

    Run run(const Words& words, const std::string& input = "") {
        const std::string file = root.path() + "/input";
        std::ofstream(file, std::ios::binary) << input;
        Fd in = Fd::open(file, 0);
        std::ostringstream err;
        Session session{
            .open =
                [this] {
                    if (open_error)
                        throw errno_error(open_error, "control");
                    return Control(std::make_unique<FakePort>(kernel));
                },
            .load =
                [this](const Words& names) {
                    loaded.insert(loaded.end(), names.begin(), names.end());
                },
            .links = Links({.directory = links,
                            .lock = root.path() + "/lock",
                            .udev_control = root.path() + "/none"}),
            .in = in.get(),
            .err = err,
            .out = {},
            .action = {},
        };
        std::vector<const char*> argv{"tallyctl"};
        for (const std::string& word : words)
            argv.push_back(word.c_str());
        int status = run_app(static_cast<int>(argv.size()), argv.data(), session);
        return {status, session.out, err.str()};
    }

    std::size_t link_count() const {
        return std::distance(fs::directory_iterator(links), fs::directory_iterator());
    }
};

bool one_line(const std::string& text) {
    return text.rfind("tallyctl: ", 0) == 0 && std::count(text.begin(), text.end(), '\n') == 1;
}

} // namespace

TEST_CASE("create loads and resumes") {
    Host host;
    Run run = host.run({"create", "xx yy", "--table", "0 8 linear 8:0 0"});
    INFO(run.err);
    CHECK(run.status == 0);
    CHECK(run.out.empty());
    CHECK(run.err.empty());
    CHECK(host.loaded == Words{"tally_map"});
    REQUIRE(host.kernel.disks.size() == 1);
    CHECK(host.kernel.disks[0].live == "0 8 linear 8:0 0\n");
    CHECK(fs::read_symlink(host.links + "/xx\\x20yy") == "../tmap0");
    CHECK(host.link_count() == 1);
    CHECK(host.run({"remove", "xx yy"}).status == 0);
    CHECK(host.kernel.disks.empty());
    CHECK(host.link_count() == 0);
}

TEST_CASE("create reads standard input, --no-load loads nothing") {
    Host host;
    CHECK(host.run({"create", "a", "--no-load"}, "# c\r\n0 8 linear 8:0 0\r\n").status == 0);
    CHECK(host.kernel.disks.at(0).live == "# c\r\n0 8 linear 8:0 0\r\n");
    CHECK(host.loaded.empty());
}

TEST_CASE("an empty table is no table") {
    for (bool notable : {false, true}) {
        Host host;
        CHECK(host.run(notable ? Words{"create", "x", "--notable"} : Words{"create", "x"}).status ==
              0);
        CHECK(host.run({"ls"}).out == "x\t(1:3)\n");
        CHECK(host.run({"info", "x"}).out.find("Tables present:    None\n") != std::string::npos);
        CHECK(host.run({"table"}).out == "x: \n");
        CHECK(host.run({"resume", "x"}).status == 1);
        Run load = host.run({"load", "x"});
        CHECK(load.status == 1);
        CHECK(one_line(load.err));
        CHECK(host.run({"reload", "x", "--table", "0 1 zero"}).status == 0);
        CHECK(host.run({"resume", "x"}).status == 0);
        CHECK(host.run({"table", "x"}).out == "0 1 zero\n");
        CHECK(host.run({"remove", "x"}).status == 0);
    }
}

TEST_CASE("a create that fails leaves nothing") {
    for (unsigned long request : {TALLY_MAP_LOAD, TALLY_MAP_RESUME}) {
        Host host;
        host.kernel.failing[_IOC_NR(request)] = EBUSY;
        host.kernel.reason = "8:0 is mounted";
        Run run = host.run({"create", "x", "--table", "0 8 linear 8:0 0"});
        CHECK(run.status == 1);
        CHECK(run.err == "tallyctl: 8:0 is mounted\n");
        CHECK(host.kernel.disks.empty());
        CHECK(host.link_count() == 0);
    }
    Host host;
    fs::create_directory(host.links + "/x"); // the link cannot be made
    CHECK(host.run({"create", "x", "--notable"}).status == 1);
    CHECK(host.run({"ram", "add", "x", "--size", "1M"}).status == 1);
    CHECK(host.kernel.disks.empty());
}

TEST_CASE("a device that cannot be undone is told of, after the first failure") {
    Host host;
    host.kernel.failing[_IOC_NR(TALLY_MAP_LOAD)] = EPERM;
    host.kernel.failing[_IOC_NR(TALLY_MAP_REMOVE)] = EBUSY;
    Run run = host.run({"create", "x", "--table", "0 8 linear 8:0 0"});
    CHECK(run.status == 4);
    CHECK(run.err.find("x is left behind") != std::string::npos);
    CHECK(host.link_count() == 1);
}

TEST_CASE("a bad table is refused before there is a device") {
    Host host;
    for (auto table : {"0", "0 1", "1 1 linear 8:0 0", "0 1 linear /nowhere 0"}) {
        Run run = host.run({"create", "x", "--table", table});
        CHECK(run.status == (std::strstr(table, "/nowhere") ? 3 : 1));
        CHECK(one_line(run.err));
        CHECK(run.err.find("line 1") != std::string::npos);
    }
    CHECK(host.run({"create", std::string(64, ' '), "--notable"}).status == 1);
    CHECK(host.run({"create", std::string(128, 'a'), "--notable"}).status == 1);
    CHECK(host.run({"create", "x"}, std::string((4 << 20) + 1, '#')).status == 1);
    CHECK(host.kernel.commands.empty());
    CHECK(host.link_count() == 0);
}

TEST_CASE("a taken name leaves its device and link alone") {
    Host host;
    CHECK(host.run({"create", "x", "--notable"}).status == 0);
    Run run = host.run({"create", "x", "--notable"});
    CHECK(run.status == 1);
    CHECK(one_line(run.err));
    CHECK(host.kernel.disks.size() == 1);
    CHECK(host.link_count() == 1);
}

TEST_CASE("bad numbers are usage errors and do nothing") {
    Host host;
    for (auto option : {"--size", "--block-size", "--completion-ns", "--node"})
        for (auto value : {"", "x", "1x", "-1", "+1", "18446744073709551616", " 1", "0x10"}) {
            for (bool joined : {false, true}) {
                Words words{"ram", "add", "r"};
                if (std::string(option) != "--size")
                    words.insert(words.end(), {"--size", "1M"});
                if (joined)
                    words.push_back(std::string(option) + "=" + value);
                else
                    words.insert(words.end(), {option, value});
                Run run = host.run(words);
                INFO(option << " '" << value << "' " << run.err);
                CHECK(run.status == 2);
                CHECK(one_line(run.err));
            }
        }
    for (auto size : {"0", "1", "513", "1T1"})
        CHECK(host.run({"ram", "add", "r", "--size", size}).status == 2);
    CHECK(host.run({"ram", "add", "r", "--size", "1K", "--block-size", "4K"}).status == 2);
    CHECK(host.run({"ram", "add", "r", "--size", "1M", "--completion-ns", "0"}).status == 2);
    CHECK(host.kernel.commands.empty());
    CHECK(host.loaded.empty());
}

TEST_CASE("other usage errors") {
    Host host;
    for (const Words& words : {Words{},
                               Words{"bla"},
                               Words{"ram"},
                               Words{"ram", "bla"},
                               Words{"create"},
                               Words{"create", ""},
                               Words{"create", "x", "--table", "t", "--notable"},
                               Words{"create", "x", "y"},
                               Words{"create", "x", "-u", ""},
                               Words{"create", "x", "--profile", ""},
                               Words{"remove"},
                               Words{"ls", "--bla"},
                               Words{"ram", "add", "--size", "1M", "--backing", ""},
                               Words{"ram", "add"},
                               Words{"set", "x"},
                               Words{"set", "x", ""},
                               Words{"set", "x", "bla=y"},
                               Words{"set", "x", "inflight="},
                               Words{"set", "x", "ticks=off", "ticks=off"},
                               Words{"set", "x", "a", "profile=b"}}) {
        Run run = host.run(words);
        INFO((words.empty() ? "" : words.back()) << ": " << run.err);
        CHECK(run.status == 2);
        CHECK(run.out.empty());
        CHECK(one_line(run.err));
    }
    CHECK(host.kernel.commands.empty());
    CHECK(host.run({"bla"}).err.find("bla") != std::string::npos);
}

TEST_CASE("help and version") {
    Host host;
    for (const Words& words :
         {Words{"--help"}, Words{"--version"}, Words{"ram", "add", "--help"}}) {
        Run run = host.run(words);
        CHECK(run.status == 0);
        CHECK(!run.out.empty());
        CHECK(run.err.empty());
    }
}

TEST_CASE("verbs may be names") {
    Host host;
    CHECK(host.run({"create", "remove", "--notable"}).status == 0);
    CHECK(host.run({"ram", "add", "list", "--size", "1M"}).status == 0);
    CHECK(host.run({"create", "--notable", "--", "-x"}).status == 0);
    CHECK(host.run({"remove", "--", "remove", "-x"}).status == 0);
    CHECK(host.run({"ram", "remove", "list"}).status == 0);
    CHECK(host.kernel.disks.empty());
}

TEST_CASE("exit status tells what is missing") {
    Host host;
    for (auto [error, status] : {std::pair{ENOENT, 3}, {ENXIO, 3}, {EACCES, 4}, {EIO, 1}}) {
        host.open_error = error;
        for (auto verb :
             {"ls", "table", "status", "info", "deps", "targets", "version", "profiles", "modes"}) {
            Run run = host.run({verb, "--json"});
            CHECK(run.status == status);
            CHECK(run.out.empty());
            CHECK(one_line(run.err));
        }
    }
    host.open_error = 0;
    host.kernel.features = 0;
    for (const Words& words : {Words{"ls"},
                               Words{"table"},
                               Words{"deps"},
                               Words{"info"},
                               Words{"targets"},
                               Words{"ram", "list"}}) {
        Run run = host.run(words);
        CHECK(run.status == 3);
        CHECK(run.out.empty());
        CHECK(one_line(run.err));
    }
    CHECK(host.loaded.empty()); // readers load nothing
    CHECK(host.run({"version"}).status == 0);

    host.kernel.features = TALLY_FEATURE_MAP;
    CHECK(host.run({"info", "nobody"}).status == 3);
    CHECK(host.run({"remove", "nobody"}).status == 3);
    CHECK(host.run({"ls"}).status == 0);
    host.kernel.failing[_IOC_NR(TALLY_MAP_CREATE)] = EPERM;
    CHECK(host.run({"create", "x", "--notable"}).status == 4);
}

TEST_CASE("a device goes by name, disk, path and number") {
    Host host;
    host.kernel.add(TALLY_KIND_MAP, "one").info.minor = 1;
    host.kernel.add(TALLY_KIND_MAP, "tmap0").info.minor = 2; // looks like the other's disk
    auto minor = [&](const std::string& dev) {
        return Json::parse(host.run({"info", dev, "--json"}).out).at("devices").at(0).at("minor");
    };
    CHECK(minor("one") == 1);
    CHECK(minor("tmap0") == 2);
    CHECK(minor("tmap1") == 2);
    CHECK(minor("1:1") == 1);
    CHECK(host.run({"info", "1:9"}).status == 3);
    CHECK(host.run({"info", "/nowhere"}).status == 3);
    CHECK(host.run({"info", "/dev/null"}).status == 1); // no block device
}

TEST_CASE("a name in brackets is a name") {
    Host host;
    for (const char* name : {"a", "b", "[a]", "[a,b]", "[", "[]", "[[a]]"})
        REQUIRE(host.run({"create", name, "--notable"}).status == 0);
    for (const char* name : {"[a]", "[a,b]", "[]", "[[a]]", "["})
        CHECK(host.run({"remove", name}).status == 0);
    CHECK(host.run({"ls"}).out == "a\t(1:3)\nb\t(1:3)\n");
    CHECK(host.run({"remove", "[a]\n"}).status != 0);
    CHECK(host.run({"[a]"}).err == "tallyctl: not understood: \"[a]\"; try --help\n");
    CHECK(host.run({"set", "a", "[linux-4.20]"}).status == 0); // whatever the kernel says to that
    CHECK(host.kernel.last_profile == "[linux-4.20]");
    CHECK(host.kernel.disks.size() == 2);
}

TEST_CASE("remove goes on after a failure and tells it") {
    Host host;
    host.kernel.add(TALLY_KIND_MAP, "a");
    host.kernel.add(TALLY_KIND_RAM, "r");
    host.kernel.add(TALLY_KIND_MAP, "b");
    Run run = host.run({"remove", "a", "nobody", "r", "b"});
    CHECK(run.status == 3);
    CHECK(run.err.find("nobody") != std::string::npos);
    REQUIRE(host.kernel.disks.size() == 1);
    CHECK(host.kernel.disks[0].info.name == std::string("r"));
}

TEST_CASE("set passes what is asked for") {
    Host host;
    host.kernel.add(TALLY_KIND_MAP, "a");
    CHECK(host.run({"set", "a", "linux-5.0"}).status == 0);
    CHECK(host.kernel.last_profile == "linux-5.0");
    CHECK(host.kernel.last_modes == Words{"", "", "", ""});
    CHECK(host.run({"set", "a", "profile=none", "inflight=percpu", "clock=ns"}).status == 0);
    CHECK(host.kernel.last_profile == "none");
    CHECK(host.kernel.last_modes == Words{"percpu", "", "", "ns"});
}

TEST_CASE("ram add passes what is asked for") {
    Host host;
    Run run = host.run({"ram",
                        "add",
                        "--size",
                        "256m",
                        "--block-size",
                        "4k",
                        "--completion",
                        "timer",
                        "--completion-ns",
                        "5000",
                        "--node",
                        "0",
                        "--backing",
                        "null"});
    INFO(run.err);
    CHECK(run.status == 0);
    CHECK(run.out == "tram0\n");
    CHECK(host.loaded == Words{"tally_ram"});
    CHECK(host.kernel.last_ram.sectors == 524288);
    CHECK(host.kernel.last_ram.block_size == 4096);
    CHECK(host.kernel.last_ram.completion_ns == 5000);
    CHECK(host.kernel.last_ram.node == 0);
    CHECK(host.kernel.last_ram.backing == std::string("null"));
    CHECK(host.run({"ram",
                    "add",
                    "q",
                    "--size",
                    "1M",
                    "--queue",
                    "mq",
                    "--submit-queues",
                    "2",
                    "--poll-queues",
                    "1",
                    "--depth",
                    "8",
                    "--shared-tags",
                    "--tag-bitmap",
                    "--no-sched",
                    "--blocking",
                    "--completion",
                    "timer",
                    "--jitter",
                    "uniform",
                    "--jitter-ns",
                    "7"})
              .status == 0);
    CHECK(host.kernel.last_ram.queue == std::string("mq"));
    CHECK(host.kernel.last_ram.jitter == std::string("uniform"));
    CHECK(host.kernel.last_ram.jitter_ns == 7);
    CHECK(host.kernel.last_ram.submit_queues == 2);
    CHECK(host.kernel.last_ram.poll_queues == 1);
    CHECK(host.kernel.last_ram.depth == 8);
    CHECK(host.kernel.last_ram.head.flags == (TALLY_RAM_MQ_FLAGS & ~TALLY_RAM_MQ_PER_NODE));
    CHECK(host.run({"ram", "add", "n", "--size", "1M", "--per-node", "-r"}).status == 0);
    CHECK(host.kernel.last_ram.head.flags == (TALLY_RAM_MQ_PER_NODE | TALLY_RAM_READONLY));
    CHECK(host.run({"ram",
                    "add",
                    "l",
                    "--size",
                    "1M",
                    "--queue",
                    "mq",
                    "--max-sectors",
                    "16",
                    "--io-min",
                    "64K",
                    "--io-opt",
                    "1M",
                    "--virt-boundary",
                    "--rotational",
                    "--no-discard"})
              .status == 0);
    CHECK(host.kernel.last_ram.max_sectors == 16);
    CHECK(host.kernel.last_ram.io_min == 65536);
    CHECK(host.kernel.last_ram.io_opt == 1048576);
    CHECK(host.kernel.last_ram.head.flags ==
          (TALLY_RAM_VIRT_BOUNDARY | TALLY_RAM_ROTATIONAL | TALLY_RAM_NO_DISCARD));
    CHECK(host.run({"ram", "add", "r", "--size", "512"}).status == 0);
    CHECK(host.kernel.last_ram.node == -1);
    CHECK(host.link_count() == 5);
}

TEST_CASE("text output") {
    Host host;
    host.run({"create", "a", "-u", "U", "--table", "0 8 linear 8:0 0\n8 8 linear 8:16 0\n"});
    CHECK(host.run({"table", "a"}).out == "0 8 linear 8:0 0\n8 8 linear 8:16 0\n");
    CHECK(host.run({"table"}).out == "a: 0 8 linear 8:0 0\na: 8 8 linear 8:16 0\n");
    CHECK(host.run({"table", "a", "--inactive"}).out.empty());
    CHECK(host.run({"deps", "a"}).out == "2 dependencies\t: (8, 0) (8, 16)\n");
    CHECK(host.run({"deps"}).out == "a: 2 dependencies\t: (8, 0) (8, 16)\n");
    CHECK(host.run({"targets"}).out == "linear           v1.2.3\n");
    CHECK(host.run({"info", "a"}).out == "Name:              a\n"
                                         "State:             ACTIVE\n"
                                         "Tables present:    LIVE\n"
                                         "Open count:        0\n"
                                         "Event number:      1\n"
                                         "Major, minor:      1, 3\n"
                                         "Number of targets: 2\n"
                                         "UUID: U\n"
                                         "Disk:              tmap0\n"
                                         "Profile:           none\n\n");
    CHECK(host.run({"suspend", "a"}).status == 0);
    CHECK(host.run({"info", "a"}).out.find("State:             SUSPENDED\n") != std::string::npos);
    CHECK(host.run({"load", "a", "--table", "0 1 zero"}).status == 0);
    CHECK(host.run({"info", "a"}).out.find("LIVE & INACTIVE\n") != std::string::npos);
    CHECK(host.run({"clear", "a"}).status == 0);
    CHECK(host.run({"info", "a"}).out.find("LIVE\n") != std::string::npos);
}

TEST_CASE("settings of a disk are set and shown") {
    Host host;
    host.kernel.add(TALLY_KIND_RAM, "r").info.sectors = 8;
    CHECK(host.run({"ram", "show", "r"}).out == "size=4096\n");
    CHECK(host.run({"ram", "set", "r", "size=1M"}).status == 0);
    CHECK(host.run({"ram", "show", "r"}).out == "size=1048576\n");
    for (const char* bad : {"size", "size=", "=1", "size=x"})
        CHECK(host.run({"ram", "set", "r", bad}).status == 2);
    Run run = host.run({"ram", "set", "r", "colour=1"});
    CHECK(run.status == 1);
    CHECK(run.err.find("no such setting") != std::string::npos);
    CHECK(host.run({"ram", "show", "r"}).out == "size=1048576\n");
}

TEST_CASE("JSON is one document and values come back") {
    const std::string odd = "q\"b\\s";
    Host host;
    host.kernel.add(TALLY_KIND_MAP, odd, odd + "\xc3\xbc").live = "0 8 linear 8:0 0\n";
    host.kernel.add(TALLY_KIND_RAM, "\xff\xfe").info.sectors = 8;
    // Where the directory is given, the schema test reads the documents from it.
    const char* keep = std::getenv("TALLY_JSON_DIR");
    for (const Words& words : {Words{"ls"},
                               Words{"table"},
                               Words{"status"},
                               Words{"info"},
                               Words{"deps"},
                               Words{"targets"},
                               Words{"version"},
                               Words{"profiles"},
                               Words{"modes"},
                               Words{"ram", "show", "\xff\xfe"},
                               Words{"ram", "list"}}) {
        Words with = words;
        with.push_back("--json");
        Run run = host.run(with);
        INFO(run.err);
        CHECK(run.status == 0);
        CHECK(run.err.empty());
        std::string verb = words[0] == "ram" ? "ram-" + words[1] : words[0];
        Json json = Json::parse(run.out);
        CHECK(json.at("schema") == "blktally/" + verb + "/1");
        if (json.contains("devices") && verb != "ram-list")
            CHECK(json.at("devices").at(0).at("name") == odd);
        if (verb == "info")
            CHECK(json.at("devices").at(0).at("uuid") == odd + "\xc3\xbc");
        if (verb == "ram-list")
            CHECK(json.at("devices").at(0).at("name") == "\xef\xbf\xbd\xef\xbf\xbd");
        if (keep)
            std::ofstream(std::string(keep) + "/" + verb + ".json") << run.out;
    }
    Host empty;
    CHECK(Json::parse(empty.run({"ls", "--json"}).out).at("devices").empty());
}

TEST_CASE("udev-name prints the link's name") {
    Host host;
    fs::create_directories(host.root.path() + "/sys/tally");
    std::ofstream(host.root.path() + "/sys/tally/name") << "xx yy\n";
    CHECK(host.run({"udev-name", host.root.path() + "/sys"}).out == "xx\\x20yy\n");
    Run run = host.run({"udev-name", host.root.path()});
    CHECK(run.status == 3);
    CHECK(run.out.empty());
}
