// SPDX-License-Identifier: MIT
#include "ipc/json_or_null.h"
#include "nodes/doctor_checks_detail.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

Json nodeJson(const NodeSnapshot &snapshot) {
    Json json = {{"name", snapshot.node.name},
                 {"how", snapshot.node.how},
                 {"host", snapshot.node.host},
                 {"usable", snapshot.usable()},
                 {"agent", snapshot.agentVersion}};
    if (!snapshot.usable()) {
        json["problem"] = snapshot.problem;
        return json;
    }
    json["hostname"] = snapshot.facts->host;
    json["torch"] = snapshot.facts->torch;
    json["nccl"] = snapshot.facts->nccl;
    json["cores"] = snapshot.facts->allowedCoreCount;
    json["gpus"] = snapshot.facts->gpus.size();
    json["disk_free_bytes"] = orNull(snapshot.facts->diskFreeBytes);
    json["clock_offset_s"] = snapshot.clock ? Json(snapshot.clock->offsetS) : Json(nullptr);
    json["clock_error_s"] = snapshot.clock ? Json(snapshot.clock->errorS) : Json(nullptr);
    return json;
}

} // namespace

std::string_view toString(Finding::Severity severity) {
    switch (severity) {
    case Finding::Severity::Note:
        return "note";
    case Finding::Severity::Warning:
        return "warning";
    case Finding::Severity::Error:
        return "error";
    }
    return "";
}

void sortFindings(std::vector<Finding> &findings) {
    std::stable_sort(findings.begin(), findings.end(),
                     [](const Finding &a, const Finding &b) { return a.severity > b.severity; });
}

bool anyError(const std::vector<Finding> &findings) {
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding &one) { return one.severity == Finding::Severity::Error; });
}

std::vector<Finding> findingsOf(const DoctorSnapshot &snapshot) {
    Findings findings;
    checkNodes(snapshot, findings);
    checkVersions(snapshot, findings);
    checkLines(snapshot, findings);
    checkNetwork(snapshot, findings);
    checkNames(snapshot, findings);
    checkData(snapshot, findings);
    sortFindings(findings);
    return findings;
}

std::string toJson(const DoctorSnapshot &snapshot, const std::vector<Finding> &findings) {
    Json json = {
        {"findings", Json::array()}, {"nodes", Json::array()}, {"interfaces", Json::array()}, {"links", Json::array()}};
    for (const Finding &one : findings)
        json["findings"].push_back({{"code", one.code},
                                    {"severity", toString(one.severity)},
                                    {"where", one.where},
                                    {"what", one.what},
                                    {"fix", one.fix}});
    for (const NodeSnapshot &node : snapshot.nodes)
        json["nodes"].push_back(nodeJson(node));
    const auto line = lineFor(snapshot);
    json["torch_line"] = line ? Json({{"version", line->line.version}, {"reason", line->reason}}) : Json(nullptr);
    for (std::size_t i = 0; i < snapshot.choices.size(); ++i)
        json["interfaces"].push_back({{"node", snapshot.nodes[i].node.name},
                                      {"interface", snapshot.choices[i].interface},
                                      {"address", snapshot.choices[i].address},
                                      {"pinned", snapshot.choices[i].pinned}});
    for (const LinkMeasure &link : snapshot.links)
        json["links"].push_back({{"from", snapshot.nodes[link.from].node.name},
                                 {"to", snapshot.nodes[link.to].node.name},
                                 {"interface", link.interface},
                                 {"address", link.address},
                                 {"ok", link.ok},
                                 {"error", link.error},
                                 {"round_trip_s", orNull(link.roundTripS)},
                                 {"bandwidth_bytes_s", orNull(link.bandwidthBytesS)},
                                 {"segment_bytes", orNull(link.segmentBytes)}});
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace lockstep::core
