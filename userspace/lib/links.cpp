// SPDX-License-Identifier: GPL-2.0-or-later
#include "blktally/links.hpp"

#include "blktally/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>

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

class UdevQueue {
public:
    UdevQueue() : udev_(udev_new()), queue_(udev_ ? udev_queue_new(udev_.get()) : nullptr) {}

    int fd() { return queue_ ? udev_queue_get_fd(queue_.get()) : -1; }
    bool empty() { return !queue_ || udev_queue_get_queue_is_empty(queue_.get()) != 0; }
    void flush() {
        if (queue_)
            udev_queue_flush(queue_.get());
    }

private:
    struct Unref {
        void operator()(udev* udev) const { udev_unref(udev); }
        void operator()(udev_queue* queue) const { udev_queue_unref(queue); }
    };
    std::unique_ptr<udev, Unref> udev_;
    std::unique_ptr<udev_queue, Unref> queue_;
};

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

Fd Links::lock() const {
    if (mkdir(places_.directory.c_str(), 0755) != 0 && errno != EEXIST)
        throw errno_error(errno, places_.directory);
    Fd lock = Fd::open(places_.lock, O_RDWR | O_CREAT | O_NOFOLLOW, 0600U);
    while (flock(lock.get(), LOCK_EX) != 0)
        if (errno != EINTR)
            throw errno_error(errno, "cannot lock " + places_.lock);
    return lock;
}

void Links::ensure(const std::string& name, const std::string& disk, DeviceNumber number) const {
    const std::string link = path(name);
    if (wait_for_udev([&] { return leads_to(link, number); }, places_.idle))
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

void Links::remove(const std::string& name, const std::string& disk) const {
    const std::string link = path(name);
    auto gone = [&] { return read_link(link) != target_of(disk); };
    if (wait_for_udev(gone, places_.idle) || gone())
        return;
    if (unlink(link.c_str()) != 0 && errno != ENOENT)
        throw errno_error(errno, "cannot remove the link " + link);
}

bool Links::settle() const {
    if (access(places_.udev_control.c_str(), F_OK) != 0 || UdevQueue().empty())
        return false;
    wait_for_udev([] { return false; }, std::chrono::milliseconds(0));
    return true;
}

// True: done() came true. False: udevd does not run, has nothing to do and has had the time `idle`
// to hear of the event, or is too slow.
bool Links::wait_for_udev(const std::function<bool()>& done,
                          std::chrono::milliseconds idle_time) const {
    using Clock = std::chrono::steady_clock;
    if (access(places_.udev_control.c_str(), F_OK) != 0)
        return false;

    Fd watch(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (watch)
        inotify_add_watch(watch.get(),
                          places_.directory.c_str(),
                          IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM);
    UdevQueue queue;
    const Clock::time_point start = Clock::now();
    for (;;) {
        // While udevd is busy, what is there may still be undone by an event of an earlier device.
        const bool idle = queue.empty();
        if (idle && done())
            return true;
        const Clock::time_point until = start + (idle ? idle_time : places_.busy);
        const Clock::time_point now = Clock::now();
        if (now >= until)
            return false;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
        std::array<pollfd, 2> events{pollfd{watch.get(), POLLIN, 0}, pollfd{queue.fd(), POLLIN, 0}};
        poll(events.data(), events.size(), static_cast<int>(left.count()));
        if (watch)
            drain(watch.get());
        queue.flush();
    }
}

} // namespace tally
