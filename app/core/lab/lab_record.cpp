// SPDX-License-Identifier: MIT
#include "lab/lab_record.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/json_or_null.h"
#include "ipc/run_folder.h"
#include "lab/record_file.h"
#include "lab/record_numbers.h"
#include "store/run_index.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

constexpr double largestMessage = 1e15; ///< bytes
constexpr std::int64_t mostRanks = 65'536;
/// Of a lab. Ours has 9 operations, each with 51 sizes for each number of ranks, and the time to fit them grows faster than they do.
constexpr std::size_t mostSizes = 150, mostMeasured = 640, mostLabRows = 32'768;
/// In bytes. Most lines of ours have some hundred; the head names the device and the host of each rank.
constexpr std::size_t longestLabLine = 256 << 10, longestCollective = 64, longestReason = 1024;
constexpr std::size_t mostLabBytesInVain = 16 << 20; ///< of records that are parsed in a search and are not the one
constexpr char labIdKey[] = "lab", partnerKey[] = "partner";
/// No message between processes takes less, and doing nothing takes some 0.02 µs.
constexpr double shortestMessageS = 1e-6;

int ranksFrom(const Json &json) {
    const auto ranks = json.at("ranks").get<std::int64_t>();
    require(ranks >= 2 && ranks <= mostRanks, "ranks", json.at("ranks"));
    return int(ranks);
}

std::string collectiveFrom(const Json &json) {
    auto name = json.at("collective").get<std::string>();
    require(name.size() <= longestCollective, "bytes of an operation's name:", name.size());
    return name;
}

std::string notOfferedSentence(const Json &json) {
    const auto reason = json.at("reason").get<std::string>();
    require(reason.size() <= longestReason, "bytes of a reason:", reason.size());
    return collectiveTitle(collectiveFrom(json)) + ", " + std::to_string(ranksFrom(json)) + " ranks: " + reason;
}

LabRow labRowFrom(const Json &json) {
    LabRow row;
    row.collective = collectiveFrom(json);
    row.ranks = ranksFrom(json);
    row.bytes = json.at("bytes").get<double>();
    row.heldOut = json.at("held_out").get<bool>();
    row.sweeps = json.at("sweeps").get<int>();
    row.repeats = json.at("repeats").get<int>();
    row.medianS = durationFrom(json, "median_s");
    row.minS = durationFrom(json, "min_s");
    row.p90S = durationFrom(json, "p90_s");
    row.algbwBytesS = json.at("algbw_bytes_s").get<double>();
    row.busbwBytesS = json.at("busbw_bytes_s").get<double>();
    row.meanS = durationOr0(json, "mean_s");
    row.cpuS = documents::optionalIn<double>(json, "cpu_s");
    require(isDuration(row.cpuS.value_or(0)), "cpu_s", json.value("cpu_s", Json()));
    require(row.bytes > 0 && row.bytes <= largestMessage, "bytes", json.at("bytes"));
    const auto partner = json.value(partnerKey, std::int64_t(row.partner));
    require(partner >= 1 && partner < row.ranks, partnerKey, partner);
    row.partner = int(partner);
    return row;
}

/// Of more than two ranks, earlier versions timed those that take no part in a message after work.
bool timesIdleRanks(const LabRow &row) {
    return row.collective == messageAfterWork && row.ranks > 2 && row.medianS < shortestMessageS;
}

/// A record from elsewhere may have any number of rows.
void requireFewRows(const LabRecord &record) {
    std::map<std::pair<std::string_view, int>, std::size_t> sizes;
    for (const LabRow &row : record.rows)
        require(++sizes[{row.collective, row.ranks}] <= mostSizes,
                "more than " + std::to_string(mostSizes) + " sizes of one operation on ranks", row.ranks);
    require(sizes.size() <= mostMeasured, "operations and numbers of ranks", sizes.size());
}

std::string leftOutSentence(const Json &json) {
    return collectiveTitle(collectiveFrom(json)) + ", " + std::to_string(ranksFrom(json)) + " ranks: from " +
           messageSize(json.at("from_bytes").get<double>()).toStdString() + " on, since one would take about " +
           shortTime(json.at("estimate_s").get<double>()).toStdString();
}

/// The record without its lists, which come last; empty: it is laid out otherwise than toJson() does. No text in it has a new line
/// that is not escaped.
std::string labHead(std::string_view beginning) {
    const std::size_t lists = beginning.find("\n \"left_out\":");
    return lists == std::string_view::npos ? "" : std::string(beginning.substr(0, lists)) + "\n \"rows\": []}";
}

Json jsonOf(const LabRow &row) {
    Json json = {{"collective", row.collective},
                 {"ranks", row.ranks},
                 {"bytes", std::int64_t(row.bytes)},
                 {"held_out", row.heldOut},
                 {"sweeps", row.sweeps},
                 {"repeats", row.repeats},
                 {"median_s", row.medianS},
                 {"mean_s", row.meanS},
                 {"cpu_s", row.cpuS ? Json(*row.cpuS) : Json()},
                 {"min_s", row.minS},
                 {"p90_s", row.p90S},
                 {"algbw_bytes_s", row.algbwBytesS},
                 {"busbw_bytes_s", row.busbwBytesS}};
    if (row.partner != LabRow().partner)
        json[partnerKey] = row.partner;
    return json;
}

} // namespace

std::string collectiveTitle(const std::string &collective) {
    static const std::pair<const char *, const char *> titles[] = {{"send_recv", "point to point"},
                                                                   {"all_reduce", "all-reduce"},
                                                                   {"ring_all_reduce", "our ring"},
                                                                   {"server_all_reduce", "server"},
                                                                   {"reduce_scatter", "reduce-scatter"},
                                                                   {"all_gather", "all-gather"},
                                                                   {"broadcast", "broadcast"},
                                                                   {"all_reduce_after_work", "all-reduce, after work"},
                                                                   {messageAfterWork, "point to point, after work"}};
    for (const auto &[name, title] : titles)
        if (collective == name)
            return title;
    return collective;
}

std::string labsFolder() {
    return dataHome() + "/labs";
}

std::string toJson(const LabRecord &record) {
    Json rows = Json::array();
    for (const LabRow &row : record.rows)
        rows.push_back(jsonOf(row));
    const Json json = {{labIdKey, record.id},
                       {"host", record.host},
                       {"cpu_model", record.cpuModel},
                       {"backend", record.backend},
                       {"device", record.device},
                       {"scheduling", record.scheduling},
                       {"lockstep_version", record.lockstepVersion},
                       {"start_wall_us", record.startWallUs},
                       {"duration_s", record.durationS},
                       {"cores_per_device", record.coresPerDevice},
                       {"threads", record.threads},
                       {"cores", record.cores > 0 ? Json(record.cores) : Json()},
                       {"quick", record.quick},
                       {"oversubscribed", record.oversubscribed},
                       {"other_cores", orNull(record.otherCores)},
                       {"nodes", toText(record.nodes)},
                       {"left_out", record.leftOut},
                       {"not_offered", record.notOffered},
                       {"not_run", record.notRun},
                       {"rows", rows}};
    return json.dump(1) + "\n";
}

Result<LabRecord> labRecordFromJson(std::string_view text) {
    try {
        const Json json = documents::objectIn(text, mostRecordValues);
        LabRecord record;
        record.id = json.at(labIdKey).get<std::string>();
        record.host = json.value("host", "");
        record.cpuModel = json.value("cpu_model", "");
        record.backend = json.value("backend", "");
        record.device = json.value("device", "");
        record.scheduling = json.value("scheduling", "");
        record.lockstepVersion = json.value("lockstep_version", "");
        record.startWallUs = json.value("start_wall_us", std::int64_t{0});
        record.durationS = json.value("duration_s", 0.0);
        record.coresPerDevice = json.value("cores_per_device", 1);
        record.threads = json.value("threads", 1);
        record.cores = documents::valueIn(json, "cores", 0);
        record.quick = json.value("quick", false);
        record.oversubscribed = json.value("oversubscribed", false);
        record.otherCores = documents::optionalIn<double>(json, "other_cores");
        auto nodes = nodesFromText(json.value("nodes", ""));
        if (!nodes)
            return fail(nodes.error());
        record.nodes = std::move(*nodes);
        record.leftOut = json.value("left_out", std::vector<std::string>());
        record.notOffered = json.value("not_offered", std::vector<std::string>());
        record.notRun = json.value("not_run", std::vector<std::string>());
        require(json.at("rows").size() <= mostLabRows, "rows", json.at("rows").size());
        for (const Json &row : json.at("rows"))
            record.rows.push_back(labRowFrom(row));
        requireFewRows(record);
        std::erase_if(record.rows, timesIdleRanks);
        return record;
    } catch (const std::exception &exception) {
        return fail(Error::failed(std::string("a lab's record is not understood: ") + exception.what(),
                                  "measure again: lockstepctl lab"));
    }
}

Result<void> checkLabRoom(const LabRecord &record, std::string_view line) {
    if (record.rows.size() < mostLabRows && record.notOffered.size() < mostMeasured &&
        record.leftOut.size() < mostMeasured && line.size() <= longestLabLine)
        return {};
    return fail(Error::failed("the lab's trainer says more than any lab has to say: over " +
                                  std::to_string(mostLabRows) + " rows, " + std::to_string(mostMeasured) +
                                  " operations that are left out, or " + std::to_string(longestLabLine >> 10) +
                                  " KiB in a line",
                              "check lockstep-trainer on that machine, and measure fewer numbers of ranks at once"));
}

Result<void> takeLabLine(LabRecord &record, std::string_view line) {
    if (auto room = checkLabRoom(record, line); !room)
        return room;
    try {
        const Json json = documents::objectIn(line);
        const auto type = json.value("type", "");
        if (type == "row")
            record.rows.push_back(labRowFrom(json));
        else if (type == "not_offered")
            record.notOffered.push_back(notOfferedSentence(json));
        else if (type == "left_out")
            record.leftOut.push_back(leftOutSentence(json));
        else if (type == "lab") {
            record.backend = json.at("backend").get<std::string>();
            record.device = json.at("device").get<std::string>();
            record.scheduling = json.at("scheduling").get<std::string>();
            record.threads = json.at("threads").get<int>();
            record.coresPerDevice = json.at("cores_per_device").get<int>();
            record.oversubscribed = record.oversubscribed || json.at("oversubscribed").get<bool>();
        }
        return {};
    } catch (const std::exception &exception) {
        return fail(Error::failed(std::string("a line of the lab is not understood: ") + exception.what(),
                                  "lockstepctl and lockstep-trainer must be of one version"));
    }
}

Result<void> writeLab(const LabRecord &record) {
    if (auto made = realFileSystem().makeFolders(labsFolder()); !made)
        return made;
    return realFileSystem().writeAtomically(labsFolder() + "/" + record.id + ".json", toJson(record));
}

Result<LabRecord> readLab(const std::string &id) {
    if (!isRunId(id))
        return fail(
            Error::badArgument("\"" + id.substr(0, 60) + "\" is no lab's id", "`lockstepctl lab --list` shows them"));
    const auto text = readRecordFile(labsFolder(), labIdKey, id);
    if (!text && isThere(labsFolder() + "/" + id + ".json"))
        return fail(text.error());
    if (!text)
        return fail(Error::badArgument("there is no lab " + id, "`lockstepctl lab --list` shows them"));
    return labRecordFromJson(*text);
}

std::vector<std::string> listLabs() {
    std::vector<std::string> ids;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(labsFolder(), error))
        if (entry.path().extension() == ".json" && isRunId(entry.path().stem().string()))
            ids.push_back(entry.path().stem().string());
    std::sort(ids.rbegin(), ids.rend());
    return ids;
}

std::optional<LabRecord> newestLabThat(const std::function<bool(const LabRecord &)> &wanted) {
    std::vector<std::string> ids = listLabs();
    ids.resize(std::min(ids.size(), mostLabsSearched));
    std::size_t inVain = 0; // bytes
    for (const std::string &id : ids) {
        if (inVain > mostLabBytesInVain)
            break;
        const auto beginning = readRecordBeginning(labsFolder(), labIdKey, id);
        if (!beginning)
            continue;
        const std::string head = labHead(*beginning);
        inVain += head.size();
        if (const auto withoutLists = labRecordFromJson(head); withoutLists && !wanted(*withoutLists))
            continue;
        const auto text = readRecordFile(labsFolder(), labIdKey, id);
        if (!text)
            continue;
        if (auto record = labRecordFromJson(*text); record && wanted(*record))
            return std::move(*record);
        inVain += text->size();
    }
    return std::nullopt;
}

namespace {

using WantsLab = std::function<bool(const LabRecord &)>;

/// The newest that is wanted and meets as many of the preferences, from the first on, as any does.
std::optional<LabRecord> newestPreferred(const WantsLab &wanted, const std::vector<WantsLab> &preferences) {
    for (std::size_t met = preferences.size() + 1; met-- > 0;) {
        auto found = newestLabThat([&](const LabRecord &record) {
            return wanted(record) && std::all_of(preferences.begin(), preferences.begin() + std::ptrdiff_t(met),
                                                 [&](const WantsLab &prefers) { return prefers(record); });
        });
        if (found)
            return found;
    }
    return std::nullopt;
}

bool isBetween(const LabRecord &record, const std::vector<NodePlace> &nodes) {
    return placesOf(record.nodes) == placesOf(nodes);
}

/// One between nodes is, whichever machine started it.
WantsLab isOfHere() {
    return [here = thisMachine()](const LabRecord &record) { return measuredElsewhere(record, here).empty(); };
}

} // namespace

std::optional<LabRecord> newestLabOf(const std::vector<NodePlace> &nodes) {
    return newestPreferred([&](const LabRecord &record) { return isBetween(record, nodes); }, {isOfHere()});
}

std::optional<LabRecord> newestLabFor(const RunConfig &config) {
    return newestPreferred(
        [&](const LabRecord &record) {
            return isBetween(record, config.nodes) && (!config.nodes.empty() || record.device == config.device);
        },
        {isOfHere(), [](const LabRecord &record) { return !record.oversubscribed; },
         [&](const LabRecord &record) { return record.coresPerDevice == config.coresPerDevice; }});
}

std::string whereMeasured(const LabRecord &record) {
    if (record.nodes.empty())
        return "on " + record.host;
    std::string out = "between ";
    for (std::size_t i = 0; i < record.nodes.size(); ++i)
        out += (i == 0 ? "" : i + 1 == record.nodes.size() ? " and " : ", ") + placesOf({record.nodes[i]});
    return out;
}

std::string measuredElsewhere(const LabRecord &record, const MachineName &here) {
    if (!record.nodes.empty() || isSameMachine({record.host, record.cpuModel}, here))
        return {};
    return "The lab was measured " + whereMeasured(record) +
           (record.cpuModel.empty() ? "" : " (" + record.cpuModel + ")") + ", not here.";
}

std::optional<LabRecord> newestLab() {
    return newestLabThat([](const LabRecord &) { return true; });
}

} // namespace lockstep::core
