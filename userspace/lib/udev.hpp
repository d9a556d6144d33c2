// SPDX-License-Identifier: GPL-2.0-or-later
// What udevd has to do, and what it has done.
#pragma once

#include <memory>
#include <set>
#include <string>

struct udev;
struct udev_monitor;
struct udev_queue;

namespace tally {

struct UdevUnref {
    void operator()(udev* one) const;
    void operator()(udev_monitor* one) const;
    void operator()(udev_queue* one) const;
};

// Whether udevd, or who starts it when it is wanted, listens at its socket. A socket that is there
// says nothing: udevd leaves it behind.
bool udev_runs(const std::string& control);

class UdevQueue {
public:
    UdevQueue();

    int fd() const; // becomes readable when the queue runs empty
    bool empty() const;
    void flush();

private:
    std::unique_ptr<udev, UdevUnref> udev_;
    std::unique_ptr<udev_queue, UdevUnref> queue_;
};

// The events of block devices that happened after this was made, and that udevd is done with: by
// then it has carried out what its rules say. Nothing is heard in another network namespace.
class UdevEvents {
public:
    UdevEvents();

    int fd() const;
    bool done_with(const std::string& action, const std::string& disk);

private:
    std::unique_ptr<udev, UdevUnref> udev_;
    std::unique_ptr<udev_monitor, UdevUnref> monitor_;
    unsigned long long before_ = 0; // number of the last event before
    std::set<std::string> done_;    // action, blank, disk
};

} // namespace tally
