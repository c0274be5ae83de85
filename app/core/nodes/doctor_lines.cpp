// SPDX-License-Identifier: MIT
// Which line of PyTorch all nodes can use, and which nodes use one that their driver or GPUs do not support.
#include <algorithm>

#include "nodes/doctor_checks_detail.h"

namespace lockstep::core {
namespace {

using Severity = Finding::Severity;

std::vector<const NodeSnapshot *> usableNodes(const DoctorSnapshot &snapshot) {
    std::vector<const NodeSnapshot *> nodes;
    for (const NodeSnapshot &node : snapshot.nodes)
        if (node.usable())
            nodes.push_back(&node);
    return nodes;
}

/// A PyTorch copied by a sync is not the node's own: the next sync may replace it.
std::string ownTorch(const NodeFacts &facts) {
    const bool synced = !facts.home.empty() && facts.torchFolder.starts_with(facts.home + "/sync/");
    return facts.torchFolder.empty() || synced ? std::string() : facts.torch;
}

LineFacts factsOf(const NodeSnapshot &node) {
    LineFacts facts;
    facts.node = node.node.name;
    facts.driver = node.facts->gpuDriver;
    for (const NodeFacts::Gpu &gpu : node.facts->gpus)
        facts.gpus.push_back({gpu.name, capabilityFromText(gpu.computeCapability)});
    facts.ownTorch = ownTorch(*node.facts);
    facts.here = node.node.how == "local";
    return facts;
}

std::string names(const std::vector<const NodeSnapshot *> &nodes) {
    std::string text;
    for (const NodeSnapshot *node : nodes)
        text += (text.empty() ? "" : " ") + node->node.name;
    return text;
}

/// A line counts as built when this machine has a trainer for it, or when each node has one already. A machine without
/// any (a viewer) copies none: the choice then only says what is possible.
std::vector<std::string> available(const DoctorSnapshot &snapshot, const std::vector<const NodeSnapshot *> &nodes) {
    std::vector<std::string> versions = snapshot.builtLines;
    if (versions.empty())
        for (const TorchLine &line : torchLines())
            versions.push_back(line.version);
    const TorchLine *first = nodes.empty() ? nullptr : lineOf(nodes.front()->facts->torch);
    if (first && std::all_of(nodes.begin(), nodes.end(),
                             [&](const NodeSnapshot *node) { return lineOf(node->facts->torch) == first; }))
        versions.push_back(first->version);
    return versions;
}

} // namespace

Result<LineChoice> lineFor(const DoctorSnapshot &snapshot) {
    const auto nodes = usableNodes(snapshot);
    std::vector<LineFacts> facts;
    for (const NodeSnapshot *node : nodes)
        facts.push_back(factsOf(*node));
    return chooseLine(facts, available(snapshot, nodes));
}

void checkLines(const DoctorSnapshot &snapshot, Findings &out) {
    const auto nodes = usableNodes(snapshot);
    if (nodes.empty())
        return;
    for (const NodeSnapshot *node : nodes)
        if (const TorchLine *line = lineOf(node->facts->torch))
            if (const std::string why = whyNot(*line, factsOf(*node)); !why.empty())
                say(out, "line_unfit", Severity::Error, node->node.name,
                    "the trainer of " + node->node.name + " uses " + titleOf(*line) + ", which does not run on " +
                        node->node.name + ", " + why,
                    "let sync choose one that does: lockstepctl nodes sync " + names(nodes));
    const auto choice = lineFor(snapshot);
    if (!choice) {
        say(out, "no_common_line", Severity::Error, nodes.size() > 1 ? "all nodes" : nodes.front()->node.name,
            choice.error().what, choice.error().wayOut);
        return;
    }
    if (choice->line.version != torchLines().front().version)
        say(out, "torch_line", Severity::Note, nodes.size() > 1 ? "all nodes" : nodes.front()->node.name,
            choice->reason, "nothing to do; if a driver is the reason, a newer driver allows the newer line");
}

} // namespace lockstep::core
