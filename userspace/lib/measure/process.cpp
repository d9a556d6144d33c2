// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/file.hpp"

namespace tally {

Finished run_process(const std::vector<std::string> &arguments) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe2");
    const File reader(ends[0]);
    File writer(ends[1]);

    std::vector<char *> argv;
    for (const std::string &argument : arguments)
        argv.push_back(const_cast<char *>(argument.c_str())); // posix_spawn's old signature
    argv.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, writer.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, writer.get(), STDERR_FILENO);
    // A group of its own: the terminal's Ctrl-C must not cut a tear-down short.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // Nor does it inherit our indifference to a closed pipe.
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    pid_t child = 0;
    const int error = posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return {127, arguments.front() + ": " + std::generic_category().message(error)};

    writer = File();
    Finished finished;
    std::array<char, 4096> buffer{};
    for (;;) {
        const ssize_t got = read(reader.get(), buffer.data(), buffer.size());
        if (got > 0)
            finished.output.append(buffer.data(), static_cast<std::size_t>(got));
        else if (got == 0 || errno != EINTR)
            break;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    finished.output.erase(finished.output.find_last_not_of(" \t\r\n") + 1);
    return finished;
}

} // namespace tally
