// SPDX-License-Identifier: GPL-2.0-or-later
#include "blktally/links.hpp"

#include "blktally/error.hpp"
#include "udev.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include <fcntl.h>
#include <libudev.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace tally {

namespace {

bool leads_to(const std::string& path, DeviceNumber number) {
    struct stat st;
    return stat(path.c_str(), &st) == 0 && major(st.st_rdev) == number.major &&
           minor(st.st_rdev) == number.minor;
}

// The text of a link; empty if there is no link.
std::string read_link(const std::string& path) {
    std::array<char, PATH_MAX> text;
    ssize_t length = readlink(path.c_str(), text.data(), text.size());
    return length < 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(length));
}

// udevd writes the same text, so that it finds its link made already and leaves it alone.
std::string target_of(const std::string& disk) { return "../" + disk; }

void drain(int fd) {
    std::array<char, 4096> bytes;
    while (read(fd, bytes.data(), bytes.size()) > 0)
        ;
}

} // namespace

std::string link_name(const std::string& name) {
    // udev wants room for one more escape than it writes.
    std::string wide(4 * name.size() + 8, '\0');
    if (udev_util_encode_string(name.c_str(), wide.data(), wide.size()) != 0)
        throw Error(EINVAL, "cannot encode the name \"" + name + "\"");
    wide.resize(wide.find('\0'));
    if (wide.size() > NAME_MAX)
        throw Error(ENAMETOOLONG,
                    "the name \"" + name + "\" takes " + std::to_string(wide.size()) +
                        " bytes as a file name in /dev/blktally, the limit is " +
                        std::to_string(NAME_MAX));
    return wide;
}

Links::Links() : Links(Places{}) {}

Links::Links(Places places) : places_(std::move(places)) {}

std::string Links::path(const std::string& name) const {
    return places_.directory + "/" + link_name(name);
}

Links::Turn::Turn(Fd lock) : lock_(std::move(lock)), events_(std::make_unique<UdevEvents>()) {}
Links::Turn::Turn(Turn&&) noexcept = default;
Links::Turn::~Turn() = default;

Links::Turn Links::lock() const {
    if (mkdir(places_.directory.c_str(), 0755) != 0 && errno != EEXIST)
        throw errno_error(errno, places_.directory);
    Fd lock = Fd::open(places_.lock, O_RDWR | O_CREAT | O_NOFOLLOW, 0600U);
    while (flock(lock.get(), LOCK_EX) != 0)
        if (errno != EINTR)
            throw errno_error(errno, "cannot lock " + places_.lock);
    return Turn(std::move(lock));
}

void Links::ensure(const Turn& turn,
                   const std::string& name,
                   const std::string& disk,
                   DeviceNumber number) const {
    const std::string link = path(name);
    const Event added{*turn.events_, "add", disk};
    if (wait_for_udev([&] { return leads_to(link, number); }, &added))
        return;
    if (read_link(link) != target_of(disk)) {
        if (!read_link(link).empty()) // of a device that went away without us
            unlink(link.c_str());
        if (symlink(target_of(disk).c_str(), link.c_str()) != 0 && !leads_to(link, number))
            throw errno_error(errno, "cannot make the link " + link);
    }
    if (!leads_to(link, number))
        throw Error(ENOENT, link + " does not lead to the device: is devtmpfs mounted on /dev?");
}

void Links::remove(const Turn& turn, const std::string& name, const std::string& disk) const {
    const std::string link = path(name);
    auto gone = [&] { return read_link(link) != target_of(disk); };
    const Event removed{*turn.events_, "remove", disk};
    if (wait_for_udev(gone, &removed) || gone())
        return;
    if (unlink(link.c_str()) != 0 && errno != ENOENT)
        throw errno_error(errno, "cannot remove the link " + link);
}

bool Links::settle() const {
    if (!udev_runs(places_.udev_control) || UdevQueue().empty())
        return false;
    wait_for_udev([] { return false; }, nullptr);
    return true;
}

// True: done() came true. False: udevd does not run, is done with the event (without one: with all
// it had to do), has nothing to do and has had the time to hear of the event, or is too slow.
bool Links::wait_for_udev(const std::function<bool()>& done, const Event* event) const {
    using Clock = std::chrono::steady_clock;
    if (!udev_runs(places_.udev_control))
        return false;

    Fd watch(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (watch)
        inotify_add_watch(watch.get(),
                          places_.directory.c_str(),
                          IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM);
    UdevQueue queue;
    // What was so before is no answer to the event: it may be about to undo it.
    const bool before = event && done();
    const Clock::time_point start = Clock::now();
    for (;;) {
        const bool past = !event || event->events.done_with(event->action, event->disk);
        // While udevd is busy, what is there may still be undone by an event of an earlier device.
        const bool idle = queue.empty();
        if (idle && (past || !before) && done())
            return true;
        const Clock::time_point until = start + (idle ? places_.idle : places_.busy);
        const Clock::time_point now = Clock::now();
        if ((idle && past) || now >= until)
            return false;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
        std::array<pollfd, 3> fds{pollfd{watch.get(), POLLIN, 0},
                                  pollfd{queue.fd(), POLLIN, 0},
                                  pollfd{event ? event->events.fd() : -1, POLLIN, 0}};
        poll(fds.data(), fds.size(), static_cast<int>(left.count()));
        if (watch)
            drain(watch.get());
        queue.flush();
    }
}

} // namespace tally
