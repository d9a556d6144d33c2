// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/preset.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <set>
#include <type_traits>

#include <fmt/format.h>

#include "measure/job.hpp"
#include "measure/json.hpp"

namespace tally {
namespace {

// An object of which every word must be known: a typing error in a preset is never ignored.
class Fields {
public:
    Fields(const Json &object, std::string where, std::initializer_list<const char *> known)
        : object_(object), where_(std::move(where)) {
        if (!object.is_object())
            throw UsageError(where_ + ": must be an object");
        for (const auto &item : object.items())
            if (std::find(known.begin(), known.end(), item.key()) == known.end())
                throw UsageError(fmt::format("{}: unknown word \"{}\"", where_, item.key()));
    }

    template <typename T> T get(const char *key) const {
        if (!object_.contains(key))
            throw UsageError(fmt::format("{}: \"{}\" is missing", where_, key));
        return convert<T>(key);
    }
    template <typename T> T get(const char *key, T otherwise) const {
        return object_.contains(key) ? convert<T>(key) : otherwise;
    }
    // The elements of a list; none when it is not there.
    template <typename Read> auto list(const char *key, Read read) const {
        std::vector<decltype(read(object_, where_))> result;
        if (!object_.contains(key))
            return result;
        if (!object_[key].is_array())
            throw UsageError(fmt::format("{}: \"{}\" must be a list", where_, key));
        for (const Json &element : object_[key])
            result.push_back(read(element, fmt::format("{}: {}[{}]", where_, key, result.size())));
        return result;
    }

    const Json &raw(const char *key) const { return object_[key]; }
    bool has(const char *key) const { return object_.contains(key); }
    std::string where(const char *key) const { return where_ + ": " + key; }

private:
    // get<T>() takes any number, and cuts it down to what T holds.
    template <typename T> void check_range(const Json &value, const char *key) const {
        if constexpr (std::is_integral_v<T>) {
            // Not shown below: dump() needs as much stack as the file has brackets.
            if (value.is_structured())
                throw UsageError(fmt::format("{}: \"{}\" has the wrong type", where_, key));
            if (!value.is_number_unsigned() ||
                value.get<std::uint64_t>() > std::numeric_limits<T>::max())
                throw UsageError(fmt::format("{}: \"{}\" is {}: must be a whole number up to {}",
                                             where_,
                                             key,
                                             value.dump(),
                                             std::numeric_limits<T>::max()));
        } else if constexpr (std::is_same_v<T, std::vector<std::uint32_t>>) {
            if (value.is_array())
                for (const Json &element : value)
                    check_range<std::uint32_t>(element, key);
        } else if constexpr (std::is_floating_point_v<T>) {
            if (!value.is_number())
                throw UsageError(fmt::format("{}: \"{}\" has the wrong type", where_, key));
        }
    }

    template <typename T> T convert(const char *key) const {
        try {
            check_range<T>(object_[key], key);
            return object_[key].get<T>();
        } catch (const Json::exception &) {
            throw UsageError(fmt::format("{}: \"{}\" has the wrong type", where_, key));
        }
    }

    const Json &object_;
    std::string where_;
};

Modes read_modes(const Json &json, const std::string &where) {
    const Fields fields(json, where, {"inflight", "pending", "ticks", "clock"});
    const std::string keep;
    return {fields.get("inflight", keep),
            fields.get("pending", keep),
            fields.get("ticks", keep),
            fields.get("clock", keep)};
}

Modes modes_in(const Fields &fields) {
    return fields.has("modes") ? read_modes(fields.raw("modes"), fields.where("modes")) : Modes{};
}

Arm read_arm(const Json &json, const std::string &where) {
    const Fields fields(
        json, where, {"name", "about", "device", "profile", "modes", "threads", "lower"});
    Arm arm{fields.get<std::string>("name"),
            fields.get<std::string>("about", ""),
            fields.get<std::string>("device"),
            fields.get<std::string>("profile", ""),
            modes_in(fields),
            fields.get<std::uint32_t>("threads", 0),
            fields.get<std::string>("lower", "")};
    if (!arm.lower.empty() && arm.device != "linear")
        throw UsageError(where + ": \"lower\" needs the device \"linear\"");
    return arm;
}

Contrast read_contrast(const Json &json, const std::string &where) {
    const Fields fields(json, where, {"name", "arm", "against", "threads"});
    return {fields.get<std::string>("name"),
            fields.get<std::string>("arm"),
            fields.get<std::string>("against"),
            fields.get<std::vector<std::uint32_t>>("threads", {})};
}

Added read_added(const Json &json, const std::string &where) {
    const Fields fields(json, where, {"arm", "than", "must", "strive"});
    return {fields.get<std::string>("arm"),
            fields.get<std::string>("than"),
            fields.get<double>("must"),
            fields.get<double>("strive")};
}

PublishedRow read_row(const Json &json, const std::string &where) {
    const Fields fields(json, where, {"label", "arm", "iops", "of_baseline"});
    return {fields.get<std::string>("label"),
            fields.get<std::string>("arm", ""),
            fields.get<double>("iops"),
            fields.get<double>("of_baseline")};
}

Published read_published(const Json &json, const std::string &where) {
    const Fields fields(json, where, {"machine", "rows"});
    return {fields.get<std::string>("machine"), fields.list("rows", read_row)};
}

BusyModel read_model(const Json &json, const std::string &where) {
    const Fields fields(json, where, {"name", "modes"});
    return {fields.get<std::string>("name"), modes_in(fields)};
}

ThinkTime read_workload(const Json &json, const std::string &where) {
    const Fields fields(json, where, {"name", "completion_ns", "think_ns", "ios"});
    return {fields.get<std::string>("name"),
            fields.get<std::uint64_t>("completion_ns"),
            fields.get<std::uint64_t>("think_ns"),
            fields.get<std::uint64_t>("ios")};
}

void check_references(const Preset &preset) {
    std::set<std::string> names;
    for (const Arm &arm : preset.arms)
        if (!names.insert(arm.name).second)
            throw UsageError(fmt::format("{}: two arms \"{}\"", preset.name, arm.name));
    preset.arm(preset.baseline);
    for (const Contrast &contrast : preset.contrasts) {
        preset.arm(contrast.arm);
        preset.arm(contrast.against);
    }
    for (const Added &added : preset.added) {
        preset.arm(added.arm);
        preset.arm(added.than);
    }
    for (const Published &published : preset.published)
        for (const PublishedRow &row : published.rows)
            if (!row.arm.empty())
                preset.arm(row.arm);
}

} // namespace

const Arm &Preset::arm(const std::string &wanted) const {
    for (const Arm &candidate : arms)
        if (candidate.name == wanted)
            return candidate;
    throw UsageError(fmt::format("{}: there is no arm \"{}\"", name, wanted));
}

Preset parse_preset(std::string_view text, const std::string &where) {
    const Json json = Json::parse(text, nullptr, false, true);
    if (json.is_discarded())
        throw UsageError(where + ": not JSON");
    const Fields fields(json,
                        where,
                        {"schema",
                         "name",
                         "title",
                         "source",
                         "question",
                         "block_bytes",
                         "rw",
                         "baseline",
                         "arms",
                         "contrasts",
                         "added",
                         "published",
                         "accuracy"});
    if (fields.get<std::string>("schema") != "blktally/preset/1")
        throw UsageError(where + ": \"schema\" must be \"blktally/preset/1\"");

    Preset preset;
    preset.name = fields.get<std::string>("name");
    preset.title = fields.get<std::string>("title");
    preset.source = fields.get<std::string>("source", "");
    preset.question = fields.get<std::string>("question", "");
    preset.block_bytes = fields.get<std::uint32_t>("block_bytes", 512);
    const auto rw = fields.get<std::string>("rw", "read");
    if (rw != "read" && rw != "randread" && rw != "write" && rw != "randwrite")
        throw UsageError(fmt::format("{}: rw \"{}\" is not known", where, rw));
    preset.write = rw.ends_with("write");
    preset.random = rw.starts_with("rand");
    preset.baseline = fields.get<std::string>("baseline");
    preset.arms = fields.list("arms", read_arm);
    preset.contrasts = fields.list("contrasts", read_contrast);
    preset.added = fields.list("added", read_added);
    preset.published = fields.list("published", read_published);
    if (fields.has("accuracy")) {
        const Fields accuracy(
            fields.raw("accuracy"), fields.where("accuracy"), {"models", "workloads"});
        preset.accuracy = {accuracy.list("models", read_model),
                           accuracy.list("workloads", read_workload)};
    }
    check_references(preset);
    return preset;
}

} // namespace tally
