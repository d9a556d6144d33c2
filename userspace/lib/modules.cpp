// SPDX-License-Identifier: GPL-2.0-or-later
// Loading what is missing. Our own modules are looked for in $BLKTALLY_MODDIR, then in the build
// tree that this program was built in, then in /lib/modules.
#include "blktally/control.hpp"

#include "blktally/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include <libkmod.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace tally {

namespace {

namespace fs = std::filesystem;

struct Unref {
    void operator()(kmod_ctx* context) const { kmod_unref(context); }
    void operator()(kmod_module* module) const { kmod_module_unref(module); }
};
using Context = std::unique_ptr<kmod_ctx, Unref>;
using Module = std::unique_ptr<kmod_module, Unref>;

// libkmod asks /sys, as we do, but answers "not loaded" for one that is built in and not listed.
bool is_loaded(const std::string& name) {
    const fs::path module = "/sys/module/" + name;
    std::error_code ignored;
    if (!fs::exists(module, ignored))
        return false;
    // No initstate: built in. "coming": another process loads it, and inserting it waits for that.
    FILE* file = fopen((module / "initstate").c_str(), "re");
    if (!file)
        return true;
    char state[16] = {};
    const bool live = fgets(state, sizeof(state), file) && std::string(state) == "live\n";
    fclose(file);
    return live;
}

std::string kernel_release() {
    utsname name;
    return uname(&name) == 0 ? name.release : "";
}

fs::path build_tree() {
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    for (fs::path at = self.parent_path(); !at.empty(); at = at.parent_path()) {
        const fs::path modules = at / "build" / "kmod" / kernel_release();
        if (fs::is_directory(modules, error))
            return modules;
        if (at == at.root_path())
            break;
    }
    return {};
}

// NAME.ko, compressed or not, anywhere below the directory.
fs::path find_module(const fs::path& directory, const std::string& name) {
    if (directory.empty())
        return {};
    const std::string file = name + ".ko";
    std::error_code error;
    if (fs::exists(directory / file, error))
        return directory / file;
    auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator at(directory, options, error), end; !error && at != end;
         at.increment(error)) {
        const std::string found = at->path().filename();
        if (found == file || found == file + ".xz" || found == file + ".zst" ||
            found == file + ".gz")
            return at->path();
    }
    return {};
}

[[noreturn]] void refuse(int error, const std::string& name, const std::string& where) {
    std::string why = std::generic_category().message(error);
    if (error == ENOENT)
        why = "there is no such module for kernel " + kernel_release() +
              " (set BLKTALLY_MODDIR to the directory that holds it)";
    else if (error == ENOEXEC)
        why = "it was built for another kernel than " + kernel_release();
    else if (error == EKEYREJECTED || error == ENOKEY)
        why = "its signature is not accepted (Secure Boot?)";
    throw Error(error, "cannot load " + name + where + ": " + why);
}

void insert_file(kmod_ctx* context, const std::string& name, const fs::path& path) {
    kmod_module* raw = nullptr;
    int ret = kmod_module_new_from_path(context, path.c_str(), &raw);
    Module module(raw);
    if (ret == 0)
        ret = kmod_module_insert_module(module.get(), 0, kmod_module_get_options(module.get()));
    if (ret == 0 || is_loaded(name)) // the latter: another process was first
        return;
    if (ret == -ENOENT) // for lack of symbols; the file is there
        throw Error(EINVAL,
                    "cannot load " + name + " from " + path.string() +
                        ": it needs symbols that this kernel does not have");
    refuse(-ret, name, " from " + path.string());
}

void insert_installed(kmod_ctx* context, const std::string& name) {
    kmod_module* raw = nullptr;
    int ret = kmod_module_new_from_name(context, name.c_str(), &raw);
    Module module(raw);
    if (ret == 0 && kmod_module_get_initstate(module.get()) == KMOD_MODULE_BUILTIN)
        return;
    if (ret == 0 && !kmod_module_get_path(module.get()))
        ret = -ENOENT;
    if (ret == 0)
        ret = kmod_module_probe_insert_module(module.get(), 0, nullptr, nullptr, nullptr, nullptr);
    if (ret != 0 && !is_loaded(name))
        refuse(-ret, name, "");
}

void load_module(kmod_ctx* context, const std::string& name) {
    if (is_loaded(name))
        return;
    const char* asked = std::getenv("BLKTALLY_MODDIR");
    fs::path path = asked ? find_module(asked, name) : fs::path();
    if (path.empty())
        path = find_module(build_tree(), name);
    if (path.empty())
        insert_installed(context, name);
    else
        insert_file(context, name, path);
}

} // namespace

void load_modules(const std::vector<std::string>& names) {
    constexpr const char* core = "tally_core"; // all others need it
    if (std::all_of(names.begin(), names.end(), is_loaded))
        return;
    Context context(kmod_new(nullptr, nullptr));
    if (!context)
        throw Error(ENOMEM, "cannot load " + names.front() + ": libkmod does not start");
    // libkmod would print; what it has to say comes back as an error.
    kmod_set_log_fn(
        context.get(),
        [](void*, int, const char*, int, const char*, const char*, va_list) {},
        nullptr);
    load_module(context.get(), core);
    for (const std::string& name : names)
        load_module(context.get(), name);
}

} // namespace tally
