// SPDX-License-Identifier: MIT
// The doctor's checks of each node alone, and of differences between nodes' versions.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <QString>

#include "nodes/doctor_checks_detail.h"

namespace lockstep::core {
namespace {

using Severity = Finding::Severity;

constexpr double leastFreeBytes = 64e6; ///< below it there is no room even for a run's log
constexpr double littleFreeBytes = 2e9; ///< room for a run's checkpoints and for PyTorch's CPU libraries
constexpr double clockToleranceS = 0.1; ///< more than the frames of one step are apart
constexpr std::int64_t fewDescriptors = 4096;

std::string size(double bytes) {
    const char *units[] = {"B", "kB", "MB", "GB", "TB"};
    std::size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < std::size(units)) {
        bytes /= 1000;
        ++unit;
    }
    return QString::number(bytes, 'g', 3).toStdString() + " " + units[unit];
}

const char *codeOf(NodeTrouble trouble) {
    switch (trouble) {
    case NodeTrouble::NameUnknown:
        return "name_unknown";
    case NodeTrouble::KeyRefused:
        return "key_refused";
    case NodeTrouble::HostKeyUnknown:
        return "host_key_unknown";
    case NodeTrouble::HostKeyChanged:
        return "host_key_changed";
    case NodeTrouble::NoAgent:
        return "no_agent";
    case NodeTrouble::OldAgent:
        return "old_agent";
    default:
        return "unreachable";
    }
}

void checkDisk(const DoctorSnapshot &snapshot, const NodeSnapshot &node, Findings &out) {
    const NodeFacts &facts = *node.facts;
    const std::string fix = "free some there, or set LOCKSTEP_HOME on it to a folder on another disk";
    if (!facts.homeWritable)
        say(out, "disk_read_only", Severity::Error, node.node.name,
            facts.home + " can't be written to on " + node.node.name,
            "make your user its owner, or set LOCKSTEP_HOME there");
    if (!facts.diskFreeBytes)
        return;
    const double needed = std::max(snapshot.neededBytes, leastFreeBytes);
    if (*facts.diskFreeBytes < needed)
        say(out, "disk_full", Severity::Error, node.node.name,
            "the disk of " + facts.home + " has " + size(*facts.diskFreeBytes) + " left and " + size(needed) +
                " are needed",
            fix);
    else if (*facts.diskFreeBytes < littleFreeBytes)
        say(out, "disk_little", Severity::Warning, node.node.name,
            "the disk of " + facts.home + " has only " + size(*facts.diskFreeBytes) + " left", fix);
}

void checkLimits(const NodeSnapshot &node, Findings &out) {
    const NodeFacts &facts = *node.facts;
    const auto few = [](const NodeFacts::Limit &limit, std::int64_t least) {
        return limit.hard && *limit.hard >= 0 && *limit.hard < least;
    };
    if (few(facts.nofile, fewDescriptors))
        say(out, "few_files", Severity::Warning, node.node.name,
            "a process may open " + std::to_string(*facts.nofile.hard) +
                " files there; many ranks and loading workers need more",
            "raise nofile to 65536 in /etc/security/limits.conf there and log in again");
    if (!facts.rdma.empty() && facts.memlock.hard && *facts.memlock.hard >= 0)
        say(out, "memlock", Severity::Warning, node.node.name,
            "only " + size(double(*facts.memlock.hard)) + " of memory may be locked, but " + facts.rdma.front() +
                " (RDMA) locks all memory that it sends",
            "set memlock to unlimited in /etc/security/limits.conf there and log in again");
}

void checkClock(const NodeSnapshot &node, Findings &out) {
    if (!node.clock || std::abs(node.clock->offsetS) <= clockToleranceS + node.clock->errorS)
        return;
    const std::string by = QString::number(std::abs(node.clock->offsetS), 'f', 2).toStdString() + " s " +
                           (node.clock->offsetS > 0 ? "ahead" : "behind");
    say(out, "clock", Severity::Warning, node.node.name,
        "the clock of " + node.node.name + " is " + by + " of this machine's (± " +
            QString::number(node.clock->errorS * 1e3, 'f', 1).toStdString() + " ms)",
        "turn on its time service: timedatectl set-ntp true");
}

void checkGpus(const NodeSnapshot &node, Findings &out) {
    const auto &gpus = node.facts->gpus;
    bool apart = false;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const NodeFacts::Gpu &gpu = gpus[i];
        const std::string name = "GPU " + std::to_string(i) + " (" + gpu.name + ")";
        if (gpu.pcieWidth && gpu.pcieWidthMax && *gpu.pcieWidth < *gpu.pcieWidthMax)
            say(out, "pcie_width", Severity::Warning, node.node.name,
                name + " uses " + std::to_string(*gpu.pcieWidth) + " of its " + std::to_string(*gpu.pcieWidthMax) +
                    " PCIe lanes",
                "reseat the card or put it into a slot with " + std::to_string(*gpu.pcieWidthMax) + " lanes");
        for (const auto &peer : gpu.peerToPeer)
            apart = apart || (peer && !*peer);
    }
    if (apart)
        say(out, "no_peer_to_peer", Severity::Note, node.node.name,
            "GPUs of " + node.node.name +
                " cannot read each other's memory directly: their data goes through the host's memory",
            "if they share one PCIe switch, check the IOMMU and ACS settings");
}

/// "2.11.0" of "2.11.0+cu130": CPU-only and GPU builds of one version can communicate.
std::string release(const std::string &version) {
    return version.substr(0, version.find('+'));
}

/// The usable nodes grouped by `value`, without those whose value is empty.
std::map<std::string, std::vector<std::string>> groups(const DoctorSnapshot &snapshot,
                                                       const std::function<std::string(const NodeFacts &)> &value) {
    std::map<std::string, std::vector<std::string>> out;
    for (const NodeSnapshot &node : snapshot.nodes)
        if (node.usable())
            if (const std::string said = value(*node.facts); !said.empty())
                out[said].push_back(node.node.name);
    return out;
}

std::string listed(const std::map<std::string, std::vector<std::string>> &groups) {
    std::string out;
    for (const auto &[value, names] : groups) {
        out += (out.empty() ? "" : ", ") + value + " on ";
        for (std::size_t i = 0; i < names.size(); ++i)
            out += (i > 0 ? " and " : "") + names[i];
    }
    return out;
}

std::string namesOf(const std::map<std::string, std::vector<std::string>> &groups) {
    std::string out;
    for (const auto &[value, names] : groups)
        for (const std::string &name : names)
            out += " " + name;
    return out;
}

void checkAgents(const DoctorSnapshot &snapshot, Findings &out) {
    for (const NodeSnapshot &node : snapshot.nodes)
        if (node.usable() && node.agentVersion != snapshot.ownVersion)
            say(out, "old_agent", Severity::Error, node.node.name,
                "lockstep-agent on " + node.node.name + " is version " + node.agentVersion + ", but this machine has " +
                    snapshot.ownVersion,
                "update it: lockstepctl nodes sync " + node.node.name);
    for (const NodeSnapshot &node : snapshot.nodes)
        if (node.usable() && node.facts->torch.empty())
            say(out, "no_trainer", Severity::Error, node.node.name,
                "lockstep-trainer does not work on " + node.node.name +
                    (node.facts->trainerProblem.empty() ? "" : ": " + node.facts->trainerProblem),
                "copy it there: lockstepctl nodes sync " + node.node.name);
}

} // namespace

void checkNodes(const DoctorSnapshot &snapshot, Findings &out) {
    for (const NodeSnapshot &node : snapshot.nodes) {
        if (!node.usable()) {
            say(out, codeOf(node.trouble), Severity::Error, node.node.name, node.problem, node.wayOut);
            continue;
        }
        checkDisk(snapshot, node, out);
        checkLimits(node, out);
        checkClock(node, out);
        checkGpus(node, out);
    }
}

void checkVersions(const DoctorSnapshot &snapshot, Findings &out) {
    checkAgents(snapshot, out);
    if (const auto torch = groups(snapshot, [](const NodeFacts &facts) { return release(facts.torch); });
        torch.size() > 1)
        say(out, "torch_differs", Severity::Error, "all nodes",
            "the nodes have different versions of PyTorch: " + listed(torch),
            "let sync choose one line for all and copy it where it is missing: lockstepctl nodes sync" +
                namesOf(torch));
    if (const auto nccl =
            groups(snapshot, [](const NodeFacts &facts) { return facts.gpus.empty() ? std::string() : facts.nccl; });
        nccl.size() > 1)
        say(out, "nccl_differs", Severity::Error, "all nodes",
            "the nodes have different versions of NCCL, which cannot communicate: " + listed(nccl),
            "install one version of PyTorch everywhere, or let sync copy it: lockstepctl nodes sync --torch");
    if (const auto driver = groups(snapshot, [](const NodeFacts &facts) { return facts.gpuDriver; }); driver.size() > 1)
        say(out, "driver_differs", Severity::Note, "all nodes", "the nodes' GPU drivers differ: " + listed(driver),
            "nothing to do as long as each is new enough for PyTorch's CUDA");
    if (const auto arch = groups(snapshot, [](const NodeFacts &facts) { return facts.arch; }); arch.size() > 1)
        say(out, "arch_differs", Severity::Warning, "all nodes",
            "the nodes have different processor architectures: " + listed(arch),
            "sync copies programs only to nodes of this machine's architecture");
}

} // namespace lockstep::core
