// SPDX-License-Identifier: GPL-2.0-or-later
#include <cerrno>
#include <csignal>
#include <exception>
#include <system_error>
#include <thread>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include "measure/device.hpp"
#include "measure/engine.hpp"

namespace tally {
namespace {

Count count_of(const GenCount &from) {
    return {from.ios, from.bytes, from.errors, from.ns, from.cpu, from.error};
}

// The command waits in the kernel and ends early on a signal. It runs in a thread of its own that
// is interrupted again and again until it has noticed: a signal that came between the last look
// at the flag and the system call would be lost otherwise.
class Interruptible {
public:
    static constexpr int kick = SIGUSR1;

    Interruptible() {
        struct sigaction action {};
        action.sa_handler = [](int) {}; // no SA_RESTART: the call must return
        sigaction(kick, &action, &before_);
    }
    ~Interruptible() { sigaction(kick, &before_, nullptr); }

    template <typename Call> void run(Call call, const Stop &stop) {
        const File done(eventfd(0, EFD_CLOEXEC));
        if (done.get() < 0)
            throw std::system_error(errno, std::generic_category(), "eventfd");
        std::exception_ptr failure;
        std::thread thread([&] {
            try {
                call();
            } catch (...) {
                failure = std::current_exception();
            }
            eventfd_write(done.get(), 1);
        });
        {
            const Ending ending(thread, done.get());
            constexpr std::chrono::hours no_limit{24 * 365};
            stop.wait(no_limit, done.get());
        }
        if (failure)
            std::rethrow_exception(failure);
    }

private:
    // Ends the call unless it is over, and waits for it, on every path.
    class Ending {
    public:
        Ending(std::thread &thread, int done) : thread_(thread), done_(done) {}
        ~Ending() {
            while (!finished(done_)) {
                pthread_kill(thread_.native_handle(), kick);
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
            thread_.join();
        }
        Ending(const Ending &) = delete;
        Ending &operator=(const Ending &) = delete;

    private:
        std::thread &thread_;
        int done_;
    };

    // Nobody reads the event, so it stays readable.
    static bool finished(int fd) {
        pollfd event{fd, POLLIN, 0};
        return poll(&event, 1, 0) > 0;
    }

    struct sigaction before_ {};
};

class KernelEngine final : public Engine {
public:
    explicit KernelEngine(Control &control) : control_(control) {}
    std::string name() const override { return "kernel"; }

    Result run(const Job &job, const Stop &stop) override {
        check(job);
        GenJob gen;
        gen.cpus = cpus_for(job);
        const Device device(job);
        if (!device.block())
            throw UsageError(job.device + ": the kernel engine needs a block device");
        gen.fd = device.get();
        gen.threads = job.threads;
        gen.depth = job.depth;
        gen.block_bytes = job.block_bytes;
        gen.ios = job.ios;
        gen.duration = job.duration;
        gen.start = device.offset() / block_unit;
        gen.span = device.size() / block_unit;
        gen.seed = job.seed;
        gen.write = job.write;
        gen.random = job.random;
        gen.force = job.force;

        GenResult answer;
        interruptible_.run([&] { answer = control_.gen_run(gen); }, stop);
        Result result;
        result.total = count_of(answer.total);
        for (const GenCount &count : answer.threads)
            result.threads.push_back(count_of(count));
        result.interrupted = answer.interrupted || stop.requested();
        return result;
    }

private:
    Control &control_;
    Interruptible interruptible_;
};

} // namespace

std::unique_ptr<Engine> make_kernel_engine(Control &control) {
    return std::make_unique<KernelEngine>(control);
}

} // namespace tally
