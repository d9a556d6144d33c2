// SPDX-License-Identifier: GPL-2.0-or-later
#include "setting.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace fuzz {

std::string read_line(const std::string& path) {
    const tally::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char text[4096];
    const ssize_t len = fd ? ::read(fd.get(), text, sizeof(text)) : 0;
    std::string line(text, len > 0 ? len : 0);
    return line.substr(0, line.find('\n'));
}

int write_file(const std::string& path, const std::string& text) {
    const tally::Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return fd && ::write(fd.get(), text.data(), text.size()) >= 0 ? 0 : errno;
}

Override::Override(const char* path, const std::string& text)
    : path_(path), before_(read_line(path)) {
    write_file(path, text);
}

Override::~Override() { write_file(path_, before_ + "\n"); }

Foreign::Foreign() : memory_(::memfd_create("foreign", MFD_CLOEXEC)) {
    const tally::Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    const int index = control ? ::ioctl(control.get(), LOOP_CTL_GET_FREE) : -1;
    if (index < 0 || ::ftruncate(memory_.get(), 65536))
        return;
    const std::string name = "loop" + std::to_string(index);
    loop_ = tally::Fd(::open(("/dev/" + name).c_str(), O_RDWR | O_CLOEXEC));
    loop_config config{};
    config.fd = static_cast<uint32_t>(memory_.get());
    struct stat st {};
    if (!loop_ || ::ioctl(loop_.get(), LOOP_CONFIGURE, &config) || ::fstat(loop_.get(), &st))
        return;
    disk_ = Disk{};
    disk_->major = major(st.st_rdev);
    disk_->minor = minor(st.st_rdev);
    disk_->block = 512;
    disk_->sectors = 128;
    disk_->disk = name;
}

Foreign::~Foreign() {
    if (disk_)
        ::ioctl(loop_.get(), LOOP_CLR_FD, 0);
}

namespace {

// Not by libc: it knows nothing of capabilities, and threads have their own.
void have_admin(bool have) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2];
    if (::syscall(SYS_capget, &header, data))
        throw std::system_error(errno, std::generic_category(), "capget");
    const unsigned bit = 1u << CAP_SYS_ADMIN;
    data[0].effective = have ? data[0].effective | bit : data[0].effective & ~bit;
    if (::syscall(SYS_capset, &header, data))
        throw std::system_error(errno, std::generic_category(), "capset");
}

} // namespace

Unprivileged::Unprivileged(bool really) : really_(really) {
    if (really_)
        have_admin(false);
}

Unprivileged::~Unprivileged() {
    if (really_)
        have_admin(true);
}

int references(const std::string& module) {
    const std::string line = read_line("/sys/module/" + module + "/refcnt");
    return line.empty() ? -1 : std::stoi(line);
}

} // namespace fuzz
