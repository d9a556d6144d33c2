// SPDX-License-Identifier: GPL-2.0-or-later
#include "model.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/ioctl.h>

namespace fuzz {

int Model::call(unsigned request, void* structure, uint32_t size) const {
    auto* head = static_cast<tally_head*>(structure);
    head->size = size;
    head->abi = TALLY_ABI_VERSION;
    return ::ioctl(control_, request, structure) ? errno : 0;
}

std::vector<Disk> Model::refresh() {
    std::lock_guard guard(lock_);
    std::vector<tally_disk_info> records(64);
    tally_list list{};
    list.record_size = sizeof(records[0]);
    list.buf = reinterpret_cast<uint64_t>(records.data());
    list.buf_len = static_cast<uint32_t>(records.size() * sizeof(records[0]));
    if (int error = call(TALLY_LIST, &list, sizeof(list)))
        throw std::system_error(error, std::generic_category(), "LIST");
    if (list.buf_used > list.buf_len)
        throw std::runtime_error("LIST: more disks than were made");
    records.resize(list.buf_used / sizeof(records[0]));
    disks_.clear();
    for (const auto& r : records)
        disks_.push_back({.kind = r.kind,
                          .state = r.state,
                          .major = r.major,
                          .minor = r.minor,
                          .block = r.block_size,
                          .open_count = r.open_count,
                          .sectors = r.sectors,
                          .name = r.name,
                          .uuid = r.uuid,
                          .disk = r.disk});
    return disks_;
}

std::vector<Disk> Model::all(uint32_t kind) const {
    std::lock_guard guard(lock_);
    std::vector<Disk> some;
    for (const Disk& d : disks_)
        if (kind == TALLY_KIND_ANY || d.kind == kind)
            some.push_back(d);
    return some;
}

tally_ref ref_of(const Disk& d) {
    tally_ref ref{};
    std::memcpy(ref.name, d.name.c_str(), std::min(d.name.size(), sizeof(ref.name) - 1));
    return ref;
}

int Model::map_op(unsigned request, const Disk& map) const {
    tally_map_op op{};
    op.ref = ref_of(map);
    return call(request, &op, sizeof(op));
}

int Model::load(const Disk& map, const std::string& table, uint32_t flags) const {
    tally_map_load load{};
    load.head.flags = flags;
    load.ref = ref_of(map);
    load.table = reinterpret_cast<uint64_t>(table.data());
    load.table_len = static_cast<uint32_t>(table.size());
    return call(TALLY_MAP_LOAD, &load, sizeof(load));
}

} // namespace fuzz
