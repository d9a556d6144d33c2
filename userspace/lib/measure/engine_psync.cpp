// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "measure/device.hpp"
#include "measure/engine.hpp"
#include "measure/random.hpp"

namespace tally {
namespace {

using Clock = std::chrono::steady_clock;

struct Release {
    void operator()(void *buffer) const noexcept { std::free(buffer); }
};
using Buffer = std::unique_ptr<void, Release>;

Buffer aligned_buffer(std::size_t bytes) {
    constexpr std::size_t page = 4096;
    void *buffer = std::aligned_alloc(page, (bytes + page - 1) / page * page);
    if (buffer == nullptr)
        throw std::bad_alloc();
    // Touched now, so that the loop takes no page fault and writes defined bytes.
    std::fill_n(static_cast<unsigned char *>(buffer), bytes, static_cast<unsigned char>(0xa5));
    return Buffer(buffer);
}

// Where the next block lies: one walk or one seeded draw, decided before the loop.
class Walk {
public:
    Walk(const Job &job, const Device &device, std::uint32_t thread)
        : block_(job.block_bytes), base_(device.offset()), blocks_(device.size() / job.block_bytes),
          // Threads start apart, as those of the kernel engine do.
          at_(blocks_ * thread / job.threads), random_(job.random),
          generator_(job.seed + 0x632be59bd9b4e019U * (thread + 1)) {}

    std::uint64_t next() noexcept {
        if (random_)
            return base_ + generator_.below(blocks_) * block_;
        const std::uint64_t position = base_ + at_ * block_;
        at_ = at_ + 1 == blocks_ ? 0 : at_ + 1;
        return position;
    }

private:
    std::uint64_t block_, base_, blocks_, at_;
    bool random_;
    Random generator_;
};

enum Gate { closed, open, abandoned };

// What the threads of one job share. Each thread's own fields are in its Worker.
struct Shared {
    std::atomic<bool> stop{false};
    std::atomic<int> gate{closed};
    std::atomic<std::uint32_t> ready{0}, running{0};
    int done_fd = -1;
};

// One cache line of its own each: they are written while others run.
struct alignas(128) Worker {
    Worker(const Job &job, const Device &device, std::uint32_t thread, std::uint32_t on_cpu)
        : file(device.open_direct()), buffer(aligned_buffer(job.block_bytes)),
          walk(job, device, thread), bytes(job.block_bytes), limit(job.ios), write(job.write) {
        count.cpu = on_cpu;
    }

    File file; // its own: a shared one would add a contended reference count to every call
    Buffer buffer;
    Walk walk;
    std::size_t bytes;
    std::uint64_t limit;
    bool write;
    Count count;
    int pin_error = 0;
    Clock::time_point began{}, ended{};
};

// The hot loop: no clock, no allocation, nothing shared but a flag that is only read.
template <typename Transfer> void loop(Worker &worker, const Shared &shared, Transfer transfer) {
    std::uint64_t ios = 0;
    const std::uint64_t limit = worker.limit != 0 ? worker.limit : ~0ULL;
    while (ios < limit && !shared.stop.load(std::memory_order_relaxed)) {
        const auto position = static_cast<off_t>(worker.walk.next());
        ssize_t moved;
        do
            moved = transfer(worker.file.get(), worker.buffer.get(), worker.bytes, position);
        while (moved < 0 && errno == EINTR);
        if (moved != static_cast<ssize_t>(worker.bytes)) {
            // A benchmark of failing I/O measures nothing: the first failure ends the thread.
            worker.count.error = moved < 0 ? -errno : -EIO;
            worker.count.errors = 1;
            break;
        }
        ++ios;
    }
    worker.count.ios = ios;
    worker.count.bytes = ios * worker.bytes;
}

int pin(std::uint32_t cpu) {
    const std::size_t size = CPU_ALLOC_SIZE(cpu + 1);
    std::vector<cpu_set_t> mask(size / sizeof(cpu_set_t) + 1);
    CPU_SET_S(cpu, size, mask.data());
    return sched_setaffinity(0, size, mask.data()) == 0 ? 0 : errno;
}

void work(Worker &worker, Shared &shared) {
    worker.pin_error = pin(worker.count.cpu);
    shared.ready.fetch_add(1, std::memory_order_release);
    shared.ready.notify_one();
    shared.gate.wait(closed);
    if (shared.gate.load() == open) {
        worker.began = Clock::now();
        if (worker.write)
            loop(worker, shared, ::pwrite);
        else
            loop(worker, shared, ::pread);
        worker.ended = Clock::now();
        worker.count.ns = static_cast<std::uint64_t>((worker.ended - worker.began).count());
    }
    if (shared.running.fetch_sub(1) == 1)
        eventfd_write(shared.done_fd, 1);
}

// Threads inherit the mask: signals are for the thread that waits.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

// Joins what was started, on every path.
class Crew {
public:
    explicit Crew(Shared &shared) : shared_(shared) {}
    ~Crew() { finish(); }

    void start(std::vector<std::unique_ptr<Worker>> &workers) {
        const SignalsBlocked blocked;
        for (auto &worker : workers) {
            shared_.running.fetch_add(1);
            try {
                threads_.emplace_back([&worker = *worker, this] { work(worker, shared_); });
            } catch (const std::system_error &error) {
                shared_.running.fetch_sub(1);
                throw std::system_error(
                    error.code(),
                    fmt::format("thread {} of {} (see RLIMIT_NPROC and pids.max)",
                                threads_.size() + 1,
                                workers.size()));
            }
        }
        for (auto ready = shared_.ready.load(); ready < workers.size();
             ready = shared_.ready.load())
            shared_.ready.wait(ready);
    }

    void finish() {
        int expected = closed;
        if (shared_.gate.compare_exchange_strong(expected, abandoned))
            shared_.gate.notify_all();
        shared_.stop.store(true);
        for (std::thread &thread : threads_)
            thread.join();
        threads_.clear();
    }

private:
    Shared &shared_;
    std::vector<std::thread> threads_;
};

Result collect(const std::vector<std::unique_ptr<Worker>> &workers) {
    Result result;
    auto first = workers.front()->began, last = workers.front()->ended;
    for (const auto &worker : workers) {
        const Count &count = worker->count;
        result.threads.push_back(count);
        result.total.ios += count.ios;
        result.total.bytes += count.bytes;
        result.total.errors += count.errors;
        if (result.total.error == 0)
            result.total.error = count.error;
        first = std::min(first, worker->began);
        last = std::max(last, worker->ended);
    }
    result.total.ns = static_cast<std::uint64_t>((last - first).count());
    return result;
}

class PsyncEngine final : public Engine {
public:
    std::string name() const override { return "psync"; }

    Result run(const Job &job, const Stop &stop) override {
        check(job);
        if (job.depth != 1)
            throw UsageError(fmt::format("depth {}: psync has a depth of 1", job.depth));
        const Cpus cpus = cpus_for(job);
        const Device device(job);
        std::vector<std::unique_ptr<Worker>> workers;
        for (std::uint32_t i = 0; i < job.threads; ++i)
            workers.push_back(std::make_unique<Worker>(job, device, i, cpus[i]));

        const File done(eventfd(0, EFD_CLOEXEC));
        if (done.get() < 0)
            throw std::system_error(errno, std::generic_category(), "eventfd");
        Shared shared;
        shared.done_fd = done.get();
        Crew crew(shared);
        crew.start(workers);
        for (const auto &worker : workers)
            if (worker->pin_error != 0)
                throw std::system_error(worker->pin_error,
                                        std::generic_category(),
                                        fmt::format("cannot run on CPU {}", worker->count.cpu));

        shared.gate.store(open);
        shared.gate.notify_all();
        // A signal wakes this thread through `stop`, the last worker through `done`.
        constexpr std::chrono::hours no_limit{24 * 365};
        stop.wait(job.duration.count() > 0 ? job.duration : no_limit, done.get());
        crew.finish();
        Result result = collect(workers);
        result.interrupted = stop.requested();
        return result;
    }
};

} // namespace

std::unique_ptr<Engine> make_psync_engine() { return std::make_unique<PsyncEngine>(); }

} // namespace tally
