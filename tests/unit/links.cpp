// SPDX-License-Identifier: GPL-2.0-or-later
#include "blktally/links.hpp"

#include "blktally/error.hpp"
#include "catch.hpp"
#include "temporary.hpp"

#include <cerrno>
#include <fstream>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

using namespace tally;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

// A /dev of our own: "tmap0" is /dev/null by another name, so that links lead to a device.
struct Dev {
    Temporary root;
    std::string links = root.path() + "/blktally";
    std::string udev = root.path() + "/udev-control";
    const DeviceNumber null{1, 3};

    Dev() {
        fs::create_directory(links);
        fs::create_symlink("/dev/null", root.path() + "/tmap0");
        fs::create_symlink("/dev/zero", root.path() + "/tmap1");
    }
    // Nothing more than to listen.
    Fd start_udev() const {
        Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        sockaddr_un address{AF_UNIX, {}};
        udev.copy(address.sun_path, sizeof(address.sun_path) - 1);
        REQUIRE(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
        REQUIRE(listen(fd.get(), 8) == 0);
        return fd;
    }
    Links make(std::chrono::milliseconds idle = 50ms) const {
        return Links({.directory = links,
                      .lock = root.path() + "/lock",
                      .udev_control = udev,
                      .idle = idle,
                      .busy = 10s});
    }
    std::string target(const std::string& name) const {
        std::error_code error;
        return fs::read_symlink(links + "/" + name, error);
    }
    std::size_t count() const {
        return std::distance(fs::directory_iterator(links), fs::directory_iterator());
    }
};

} // namespace

TEST_CASE("names are encoded as udev does") {
    CHECK(link_name("plain#+-.:=@_09") == "plain#+-.:=@_09");
    CHECK(link_name("xx yy") == "xx\\x20yy");
    CHECK(link_name("back\\slash") == "back\\x5cslash");
    CHECK(link_name("a/b") == "a\\x2fb");
    CHECK(link_name("\"quote\"$%?,") == "\\x22quote\\x22\\x24\\x25\\x3f\\x2c");
    CHECK(link_name("gr\xc3\xbc\xc3\x9f") == "gr\xc3\xbc\xc3\x9f");
    CHECK(link_name("\xff\xfe") == "\\xff\\xfe");
    CHECK(link_name(std::string(63, ' ')).size() == 252);
    CHECK(link_name(std::string(127, 'a')).size() == 127);
    try {
        link_name(std::string(64, ' '));
        FAIL("a name of 256 bytes was let through");
    } catch (const Error& error) {
        CHECK(error.code().value() == ENAMETOOLONG);
    }
}

TEST_CASE("without udevd the tool makes and removes links") {
    Dev dev;
    Links links = dev.make();
    links.ensure(links.lock(), "xx yy", "tmap0", dev.null);
    CHECK(dev.target("xx\\x20yy") == "../tmap0");
    CHECK(dev.count() == 1);
    links.ensure(links.lock(), "xx yy", "tmap0", dev.null);
    links.remove(links.lock(), "xx yy", "tmap0");
    CHECK(dev.count() == 0);
    links.remove(links.lock(), "xx yy", "tmap0");
}

TEST_CASE("a stale link is replaced, another device's is left alone") {
    Dev dev;
    Links links = dev.make();
    fs::create_symlink("../tmap7", dev.links + "/a");
    links.ensure(links.lock(), "a", "tmap0", dev.null);
    CHECK(dev.target("a") == "../tmap0");
    links.remove(links.lock(), "a", "tmap5");
    CHECK(dev.target("a") == "../tmap0");
}

TEST_CASE("what is no link is not replaced") {
    Dev dev;
    std::ofstream(dev.links + "/a").put('x');
    CHECK_THROWS_AS(dev.make().ensure(dev.make().lock(), "a", "tmap0", dev.null), Error);
    CHECK(fs::is_regular_file(dev.links + "/a"));
}

TEST_CASE("a device without a node is an error") {
    Dev dev;
    CHECK_THROWS_AS(dev.make().ensure(dev.make().lock(), "a", "tmap9", dev.null), Error);
}

TEST_CASE("udevd's link is waited for") {
    Dev dev;
    const Fd listening = dev.start_udev();
    std::thread udevd([&] {
        std::this_thread::sleep_for(100ms);
        fs::create_symlink("../tmap0", dev.links + "/tmp");
        fs::rename(dev.links + "/tmp", dev.links + "/a");
    });
    // so long a time that only the event can have ended the wait
    auto start = std::chrono::steady_clock::now();
    dev.make(60s).ensure(dev.make().lock(), "a", "tmap0", dev.null);
    udevd.join();
    CHECK(std::chrono::steady_clock::now() - start < 8s);

    std::thread removing([&] {
        std::this_thread::sleep_for(100ms);
        fs::remove(dev.links + "/a");
    });
    dev.make(60s).remove(dev.make().lock(), "a", "tmap0");
    removing.join();
    CHECK(dev.count() == 0);
}

TEST_CASE("with udevd but without the rule the tool does it after a while") {
    Dev dev;
    const Fd listening = dev.start_udev();
    dev.make().ensure(dev.make().lock(), "a", "tmap0", dev.null);
    CHECK(dev.target("a") == "../tmap0");
    dev.make().remove(dev.make().lock(), "a", "tmap0");
    CHECK(dev.count() == 0);
}

TEST_CASE("a socket at which nobody listens is no udevd") {
    Dev dev;
    dev.start_udev(); // and gone
    REQUIRE(fs::exists(dev.udev));
    const auto start = std::chrono::steady_clock::now();
    dev.make(60s).ensure(dev.make().lock(), "a", "tmap0", dev.null);
    dev.make(60s).remove(dev.make().lock(), "a", "tmap0");
    CHECK(std::chrono::steady_clock::now() - start < 8s);
    CHECK(dev.count() == 0);
}

TEST_CASE("the lock keeps others out, and makes the directory") {
    Dev dev;
    fs::remove(dev.links);
    std::optional<Links::Turn> turn(dev.make().lock());
    CHECK(fs::is_directory(dev.links));
    Fd other = Fd::open(dev.root.path() + "/lock", O_RDWR);
    CHECK(flock(other.get(), LOCK_EX | LOCK_NB) != 0);
    turn.reset();
    CHECK(flock(other.get(), LOCK_EX | LOCK_NB) == 0);
    // What anybody can open is no place for a lock.
    CHECK((fs::status(dev.root.path() + "/lock").permissions() & fs::perms::all) ==
          (fs::perms::owner_read | fs::perms::owner_write));
    other = Fd();
}
