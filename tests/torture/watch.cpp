// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace tally::torture {
namespace {

std::mutex all_lock;
std::vector<Activity*> all;
thread_local Activity* current = nullptr;

Clock::rep now() noexcept { return Clock::now().time_since_epoch().count(); }

// Where in the kernel a thread sleeps, as far as it tells.
std::string wait_channel(int task) {
    char text[128];
    const int fd =
        open(("/proc/self/task/" + std::to_string(task) + "/wchan").c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (fd >= 0)
        close(fd);
    return got > 0 ? std::string(text, static_cast<std::size_t>(got)) : "?";
}

void dump_blocked_tasks() {
    const int fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "w", 1) != 1)
        std::printf("no dump of blocked tasks: /proc/sysrq-trigger\n");
    if (fd >= 0)
        close(fd);
}

} // namespace

Activity::Activity(std::string name)
    : name_(std::move(name)), since_(now()), before_(current), task_(gettid()) {
    current = this;
    const std::lock_guard lock(all_lock);
    all.push_back(this);
}

Activity::~Activity() {
    current = before_;
    const std::lock_guard lock(all_lock);
    all.erase(std::find(all.begin(), all.end(), this));
}

Activity& Activity::mine() noexcept { return *current; }

void Activity::doing(const char* what, const char* with) noexcept {
    what_ = what;
    with_ = with;
    since_ = now();
}

bool Activity::one_hangs(std::chrono::seconds limit) {
    const Clock::rep earliest = now() - Clock::duration(limit).count();
    const std::lock_guard lock(all_lock);
    return std::any_of(all.begin(), all.end(), [&](const Activity* activity) {
        return activity->since_.load() < earliest;
    });
}

void Activity::print_all() {
    const std::lock_guard lock(all_lock);
    for (const Activity* activity : all)
        std::printf(
            "%-12s for %6.1f s: %s %s (in the kernel: %s)\n",
            activity->name_.c_str(),
            std::chrono::duration<double>(Clock::duration(now() - activity->since_.load())).count(),
            activity->what_.load(),
            activity->with_.load(),
            wait_channel(activity->task_).c_str());
}

Watchdog::Watchdog(std::chrono::seconds limit)
    : thread_([this, limit] {
          while (!over_) {
              std::this_thread::sleep_for(std::chrono::milliseconds(500));
              if (!Activity::one_hangs(limit))
                  continue;
              std::printf("FAIL (watchdog) a thread does the same for over %lld s\n",
                          static_cast<long long>(limit.count()));
              Activity::print_all();
              std::fflush(stdout);
              dump_blocked_tasks();
              _exit(1);
          }
      }) {}

Watchdog::~Watchdog() {
    over_ = true;
    thread_.join();
}

} // namespace tally::torture
