// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/stop.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <system_error>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace tally {

static_assert(std::atomic<int>::is_always_lock_free, "a signal handler stores to it");

Stop::Stop() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0)
        throw std::system_error(errno, std::generic_category(), "eventfd");
}

Stop::~Stop() { close(fd_); }

void Stop::request(int signal) noexcept {
    const int saved = errno;
    signal_.store(signal, std::memory_order_relaxed);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof one);
    errno = saved;
}

void Stop::wait(std::chrono::nanoseconds time, int event_fd) const {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + time;
    std::array<pollfd, 2> fds{
        {{fd_, POLLIN, 0}, {event_fd, POLLIN, 0}}}; // a negative fd is ignored
    for (;;) {
        const auto left = std::max(deadline - Clock::now(), Clock::duration::zero());
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
        const timespec timeout{static_cast<time_t>(seconds.count()),
                               static_cast<long>((left - seconds).count())};
        if (ppoll(fds.data(), fds.size(), &timeout, nullptr) >= 0)
            return;
        if (errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "ppoll");
    }
}

} // namespace tally
