// SPDX-License-Identifier: MIT
#include "ipc/json_or_null.h"
#include "nodes/doctor_checks_detail.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

Json nodeJson(const NodeLook &look) {
    Json json = {{"name", look.node.name},
                 {"how", look.node.how},
                 {"host", look.node.host},
                 {"usable", look.usable()},
                 {"agent", look.agentVersion}};
    if (!look.usable()) {
        json["problem"] = look.problem;
        return json;
    }
    json["hostname"] = look.facts->host;
    json["torch"] = look.facts->torch;
    json["nccl"] = look.facts->nccl;
    json["cores"] = look.facts->allowedCoreCount;
    json["gpus"] = look.facts->gpus.size();
    json["disk_free_bytes"] = orNull(look.facts->diskFreeBytes);
    json["clock_offset_s"] = look.clock ? Json(look.clock->offsetS) : Json(nullptr);
    json["clock_error_s"] = look.clock ? Json(look.clock->errorS) : Json(nullptr);
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

std::vector<Finding> findingsOf(const DoctorLook &look) {
    Findings findings;
    checkNodes(look, findings);
    checkVersions(look, findings);
    checkLines(look, findings);
    checkNetwork(look, findings);
    checkNames(look, findings);
    checkData(look, findings);
    sortFindings(findings);
    return findings;
}

std::string toJson(const DoctorLook &look, const std::vector<Finding> &findings) {
    Json json = {
        {"findings", Json::array()}, {"nodes", Json::array()}, {"interfaces", Json::array()}, {"links", Json::array()}};
    for (const Finding &one : findings)
        json["findings"].push_back({{"code", one.code},
                                    {"severity", toString(one.severity)},
                                    {"where", one.where},
                                    {"what", one.what},
                                    {"fix", one.fix}});
    for (const NodeLook &node : look.nodes)
        json["nodes"].push_back(nodeJson(node));
    const auto line = lineFor(look);
    json["torch_line"] = line ? Json({{"version", line->line.version}, {"reason", line->reason}}) : Json(nullptr);
    for (std::size_t i = 0; i < look.choices.size(); ++i)
        json["interfaces"].push_back({{"node", look.nodes[i].node.name},
                                      {"interface", look.choices[i].interface},
                                      {"address", look.choices[i].address},
                                      {"pinned", look.choices[i].pinned}});
    for (const LinkMeasure &link : look.links)
        json["links"].push_back({{"from", look.nodes[link.from].node.name},
                                 {"to", look.nodes[link.to].node.name},
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
