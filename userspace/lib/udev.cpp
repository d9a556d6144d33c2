// SPDX-License-Identifier: GPL-2.0-or-later
#include "udev.hpp"

#include "blktally/fd.hpp"

#include <cerrno>
#include <fstream>

#include <libudev.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace tally {

void UdevUnref::operator()(udev* one) const { udev_unref(one); }
void UdevUnref::operator()(udev_monitor* one) const { udev_monitor_unref(one); }
void UdevUnref::operator()(udev_queue* one) const { udev_queue_unref(one); }

bool udev_runs(const std::string& control) {
    sockaddr_un address{AF_UNIX, {}};
    if (control.size() >= sizeof(address.sun_path))
        return false;
    control.copy(address.sun_path, control.size());
    const Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    // EAGAIN: it has callers enough.
    return fd && (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 ||
                  errno == EAGAIN);
}

UdevQueue::UdevQueue()
    : udev_(udev_new()), queue_(udev_ ? udev_queue_new(udev_.get()) : nullptr) {}

int UdevQueue::fd() const { return queue_ ? udev_queue_get_fd(queue_.get()) : -1; }

bool UdevQueue::empty() const {
    return !queue_ || udev_queue_get_queue_is_empty(queue_.get()) != 0;
}

void UdevQueue::flush() {
    if (queue_)
        udev_queue_flush(queue_.get());
}

UdevEvents::UdevEvents()
    : udev_(udev_new()),
      monitor_(udev_ ? udev_monitor_new_from_netlink(udev_.get(), "udev") : nullptr) {
    if (monitor_ &&
        (udev_monitor_filter_add_match_subsystem_devtype(monitor_.get(), "block", "disk") < 0 ||
         udev_monitor_enable_receiving(monitor_.get()) < 0))
        monitor_.reset();
    std::ifstream("/sys/kernel/uevent_seqnum") >> before_;
}

int UdevEvents::fd() const { return monitor_ ? udev_monitor_get_fd(monitor_.get()) : -1; }

bool UdevEvents::done_with(const std::string& action, const std::string& disk) {
    while (monitor_) {
        udev_device* event = udev_monitor_receive_device(monitor_.get());
        if (!event)
            break;
        if (udev_device_get_seqnum(event) > before_)
            done_.insert(std::string(udev_device_get_action(event)) + ' ' +
                         udev_device_get_sysname(event));
        udev_device_unref(event);
    }
    return done_.count(action + ' ' + disk) != 0;
}

} // namespace tally
