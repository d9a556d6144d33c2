// SPDX-License-Identifier: GPL-2.0-or-later
// The reader of experiments (userspace/lib/measure/preset.cpp), the only JSON that we read. The
// input is a file. The model is a table of the words that each object may hold; it says whether the
// file is to be taken and what it means, with every default filled in. What was read and written
// again must be just that.
#include "target.hpp"

#include "measure/job.hpp"
#include "measure/json.hpp"
#include "measure/preset.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <vector>

using namespace fuzz;

namespace {

using Document = nlohmann::json;

enum class Kind { text, u32, u64, real, u32s, object, objects };
enum Need { optional, required };

struct Word {
    const char* name;
    Kind kind;
    Need need = optional;
    Document otherwise = nullptr; // of scalars that may be left out
    std::vector<Word> words{};    // of objects
};

const std::vector<Word> modes{{"inflight", Kind::text, optional, ""},
                              {"pending", Kind::text, optional, ""},
                              {"ticks", Kind::text, optional, ""},
                              {"clock", Kind::text, optional, ""}};

const std::vector<Word> preset{
    {"schema", Kind::text, required},
    {"name", Kind::text, required},
    {"title", Kind::text, required},
    {"source", Kind::text, optional, ""},
    {"question", Kind::text, optional, ""},
    {"block_bytes", Kind::u32, optional, 512U},
    {"rw", Kind::text, optional, "read"},
    {"baseline", Kind::text, required},
    {"arms",
     Kind::objects,
     optional,
     nullptr,
     {{"name", Kind::text, required},
      {"about", Kind::text, optional, ""},
      {"device", Kind::text, required},
      {"profile", Kind::text, optional, ""},
      {"modes", Kind::object, optional, nullptr, modes},
      {"threads", Kind::u32, optional, 0U},
      {"lower", Kind::text, optional, ""}}},
    {"contrasts",
     Kind::objects,
     optional,
     nullptr,
     {{"name", Kind::text, required},
      {"arm", Kind::text, required},
      {"against", Kind::text, required},
      {"threads", Kind::u32s}}},
    {"added",
     Kind::objects,
     optional,
     nullptr,
     {{"arm", Kind::text, required},
      {"than", Kind::text, required},
      {"must", Kind::real, required},
      {"strive", Kind::real, required}}},
    {"published",
     Kind::objects,
     optional,
     nullptr,
     {{"machine", Kind::text, required},
      {"rows",
       Kind::objects,
       optional,
       nullptr,
       {{"label", Kind::text, required},
        {"arm", Kind::text, optional, ""},
        {"iops", Kind::real, required},
        {"of_baseline", Kind::real, required}}}}},
    {"accuracy",
     Kind::object,
     optional,
     nullptr,
     {{"models",
       Kind::objects,
       optional,
       nullptr,
       {{"name", Kind::text, required}, {"modes", Kind::object, optional, nullptr, modes}}},
      {"workloads",
       Kind::objects,
       optional,
       nullptr,
       {{"name", Kind::text, required},
        {"completion_ns", Kind::u64, required},
        {"think_ns", Kind::u64, required},
        {"ios", Kind::u64, required}}}}},
};

bool is_u32(const Document& value) {
    return value.is_number_unsigned() &&
           value.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max();
}

// Fills in what is left out; false if the reader has to refuse.
bool complete(Document& object, const std::vector<Word>& words);

bool complete_value(Document& value, const Word& word) {
    switch (word.kind) {
    case Kind::text:
        return value.is_string();
    case Kind::u32:
        return is_u32(value);
    case Kind::u64:
        return value.is_number_unsigned();
    case Kind::real:
        return value.is_number();
    case Kind::u32s:
        return value.is_array() && std::all_of(value.begin(), value.end(), is_u32);
    case Kind::object:
        return complete(value, word.words);
    case Kind::objects:
        return value.is_array() && std::all_of(value.begin(), value.end(), [&](Document& element) {
                   return complete(element, word.words);
               });
    }
    return false;
}

bool complete(Document& object, const std::vector<Word>& words) {
    if (!object.is_object())
        return false;
    std::size_t known = 0;
    for (const Word& word : words) {
        if (object.contains(word.name))
            ++known;
        else if (word.need == required)
            return false;
    }
    if (known != object.size())
        return false;
    for (const Word& word : words) {
        if (!object.contains(word.name))
            object[word.name] = word.kind == Kind::object ? Document::object()
                                : word.kind == Kind::objects || word.kind == Kind::u32s
                                    ? Document::array()
                                    : word.otherwise;
        if (!complete_value(object[word.name], word))
            return false;
    }
    return true;
}

// What the words mean to each other.
bool makes_sense(const Document& document) {
    if (document["schema"] != "blktally/preset/1")
        return false;
    const std::string rw = document["rw"];
    if (!std::set<std::string>{"read", "randread", "write", "randwrite"}.contains(rw))
        return false;

    std::set<std::string> arms;
    for (const Document& arm : document["arms"])
        if (!arms.insert(arm["name"]).second || (arm["lower"] != "" && arm["device"] != "linear"))
            return false;
    std::vector<std::string> named{document["baseline"]};
    for (const Document& contrast : document["contrasts"]) {
        named.push_back(contrast["arm"]);
        named.push_back(contrast["against"]);
    }
    for (const Document& added : document["added"]) {
        named.push_back(added["arm"]);
        named.push_back(added["than"]);
    }
    for (const Document& published : document["published"])
        for (const Document& row : published["rows"])
            if (row["arm"] != "")
                named.push_back(row["arm"]);
    return std::all_of(
        named.begin(), named.end(), [&](const std::string& name) { return arms.contains(name); });
}

std::optional<Document> model(std::string_view text) {
    Document document = Document::parse(text, nullptr, false, true);
    if (document.is_discarded() || !complete(document, preset) || !makes_sense(document))
        return std::nullopt;
    return document;
}

Document written(const tally::Modes& modes) {
    return {{"inflight", modes.inflight},
            {"pending", modes.pending},
            {"ticks", modes.ticks},
            {"clock", modes.clock}};
}

Document written(const tally::Preset& read) {
    Document document{
        {"schema", "blktally/preset/1"},
        {"name", read.name},
        {"title", read.title},
        {"source", read.source},
        {"question", read.question},
        {"block_bytes", read.block_bytes},
        {"rw", std::string(read.random ? "rand" : "") + (read.write ? "write" : "read")},
        {"baseline", read.baseline}};
    for (const char* list : {"arms", "contrasts", "added", "published"})
        document[list] = Document::array();
    for (const tally::Arm& arm : read.arms)
        document["arms"].push_back({{"name", arm.name},
                                    {"about", arm.about},
                                    {"device", arm.device},
                                    {"profile", arm.profile},
                                    {"modes", written(arm.modes)},
                                    {"threads", arm.threads},
                                    {"lower", arm.lower}});
    for (const tally::Contrast& contrast : read.contrasts)
        document["contrasts"].push_back({{"name", contrast.name},
                                         {"arm", contrast.arm},
                                         {"against", contrast.against},
                                         {"threads", contrast.threads}});
    for (const tally::Added& added : read.added)
        document["added"].push_back({{"arm", added.arm},
                                     {"than", added.than},
                                     {"must", added.must},
                                     {"strive", added.strive}});
    for (const tally::Published& published : read.published) {
        Document rows = Document::array();
        for (const tally::PublishedRow& row : published.rows)
            rows.push_back({{"label", row.label},
                            {"arm", row.arm},
                            {"iops", row.iops},
                            {"of_baseline", row.of_baseline}});
        document["published"].push_back({{"machine", published.machine}, {"rows", rows}});
    }
    Document models = Document::array(), workloads = Document::array();
    for (const tally::BusyModel& busy : read.accuracy.models)
        models.push_back({{"name", busy.name}, {"modes", written(busy.modes)}});
    for (const tally::ThinkTime& workload : read.accuracy.workloads)
        workloads.push_back({{"name", workload.name},
                             {"completion_ns", workload.completion_ns},
                             {"think_ns", workload.think_ns},
                             {"ios", workload.ios}});
    document["accuracy"] = {{"models", models}, {"workloads", workloads}};
    return document;
}

std::optional<tally::Preset> read(std::string_view text) {
    const Exact exact(text);
    try {
        return tally::parse_preset({exact.data(), exact.size()}, "FILE");
    } catch (const tally::UsageError& refusal) {
        require(*refusal.what() != '\0', "says why");
        return std::nullopt;
    }
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = text_of(data, size);
    const std::optional<tally::Preset> taken = read(text);
    const std::optional<Document> wanted = model(text);
    require(taken.has_value() == wanted.has_value(), "taken as the model takes it");
    if (!taken)
        return 0;
    const Document document = written(*taken);
    require(document == *wanted, "every word is read, none is mixed up");
    const auto again = read(document.dump());
    require(again && written(*again) == document, "what was written is read back");
    return 0;
}
