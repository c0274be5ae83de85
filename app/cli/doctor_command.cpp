// SPDX-License-Identifier: MIT
// doctor: examines the nodes and the connections between them; prints problems with their fixes.
#include <cstdio>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "ipc/printable.h"
#include "nodes/doctor.h"
#include "nodes/torchrun_lines.h"
#include "nodes_options.h"
#include "output.h"

namespace lockstep::cli {
namespace {

using core::DoctorSnapshot;
using core::Finding;

std::string findingsText(const std::vector<Finding> &findings) {
    std::string text;
    for (const Finding &one : findings)
        text += std::string(core::toString(one.severity)) + "  " + one.where + ": " + one.what +
                "\n         fix: " + one.fix + "\n";
    return text.empty() ? "nothing is wrong\n" : text;
}

/// A matrix of nodes: round trip and bandwidth from the row's node to the column's.
std::string matrixText(const DoctorSnapshot &snapshot) {
    if (snapshot.links.empty())
        return {};
    std::vector<std::vector<std::string>> rows = {{"from \\ to"}};
    for (const core::NodeSnapshot &node : snapshot.nodes)
        rows.front().push_back(node.node.name);
    for (std::size_t from = 0; from < snapshot.nodes.size(); ++from) {
        std::vector<std::string> row = {snapshot.nodes[from].node.name};
        for (std::size_t to = 0; to < snapshot.nodes.size(); ++to) {
            std::string cell = "-";
            for (const core::LinkMeasure &link : snapshot.links)
                if (link.from == from && link.to == to)
                    cell = link.ok ? core::shortTime(link.roundTripS).toStdString() + ", " +
                                         core::bandwidth(link.bandwidthBytesS).toStdString()
                                   : "no connection";
            row.push_back(std::move(cell));
        }
        rows.push_back(std::move(row));
    }
    return "Round trip and bandwidth of one TCP stream:\n" + aligned(rows);
}

std::string choicesText(const DoctorSnapshot &snapshot) {
    std::string text;
    for (std::size_t i = 0; i < snapshot.choices.size(); ++i)
        if (!snapshot.choices[i].interface.empty())
            text += snapshot.nodes[i].node.name + ": GLOO_SOCKET_IFNAME=" + snapshot.choices[i].interface +
                    " NCCL_SOCKET_IFNAME=" + snapshot.choices[i].interface +
                    (snapshot.choices[i].address.empty() ? "" : "  (" + snapshot.choices[i].address + ")") +
                    (snapshot.choices[i].pinned ? ", set by you" : "") + "\n";
    return text.empty() ? text : "Interfaces, found by testing:\n" + text;
}

/// Only for several nodes: a single one needs no common line.
std::string lineText(const DoctorSnapshot &snapshot) {
    const auto line = core::lineFor(snapshot);
    return snapshot.nodes.size() > 1 && line ? line->reason + "\n" : std::string();
}

Result<std::vector<core::TorchrunLine>> linesOf(const std::vector<std::string> &commands) {
    std::vector<core::TorchrunLine> lines;
    for (const std::string &command : commands) {
        auto line = core::readTorchrun(command);
        if (!line)
            return fail(line.error());
        lines.push_back(std::move(*line));
    }
    return lines;
}

} // namespace

int doctorCommand(const DoctorCommandOptions &options) {
    const auto lines = linesOf(options.commands);
    if (!lines)
        return complain(lines.error());
    // Commands can be compared without nodes; nodes are examined only if they are named.
    std::vector<core::NodeEntry> nodes;
    if (options.commands.empty() || !options.names.empty()) {
        auto chosen = core::chosenNodes(options.names);
        if (!chosen)
            return complain(chosen.error());
        nodes = std::move(*chosen);
        if (nodes.empty())
            return complain(Error::badArgument("there is no node to examine", "add one: lockstepctl nodes add NAME"));
    }
    core::DoctorOptions wanted;
    wanted.port = options.port;
    wanted.dataset = options.dataset;
    wanted.dataFolder = options.dataFolder;
    wanted.bandwidthS = options.bandwidthS;
    if (!wanted.port && !lines->empty() && lines->front().masterPort)
        wanted.port = lines->front().masterPort;
    const bool terminal = ::isatty(STDERR_FILENO) == 1;
    const DoctorSnapshot snapshot = core::examineNodes(nodes, wanted, terminalAnswers(), [&](const std::string &what) {
        std::fprintf(stderr, terminal ? "\r\033[K%s" : "%s\n", printable(what).c_str());
    });
    if (terminal)
        std::fprintf(stderr, "\r\033[K");
    std::vector<Finding> findings = core::findingsOf(snapshot);
    if (!lines->empty()) {
        const auto more = core::torchrunFindings(*lines, nodes.empty() ? nullptr : &snapshot);
        findings.insert(findings.end(), more.begin(), more.end());
        core::sortFindings(findings);
    }
    if (options.keep && nodes.size() > 1)
        if (auto kept = core::keepChoices(snapshot); !kept)
            return complain(kept.error());
    if (options.json)
        print(core::toJson(snapshot, findings));
    else
        print(findingsText(findings) + lineText(snapshot) + choicesText(snapshot) + matrixText(snapshot));
    return core::anyError(findings) ? Failed : Done;
}

} // namespace lockstep::cli
