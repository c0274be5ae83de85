// SPDX-License-Identifier: MIT
#include "nodes/node_probe.h"

#include <nlohmann/json.hpp>
#include <QString>

#include "base/command_request.h"
#include "base/last_line.h"
#include "ipc/clock.h"
#include "ipc/documents.h"

namespace lockstep::core {
namespace {

using namespace std::chrono_literals;

constexpr int roundTrips = 9;

/// The measurement with the shortest round trip: the others were delayed.
std::optional<ClockView> askClock(const NodeShell &shell, QProcess &agent) {
    const SystemClock clock;
    std::optional<ClockView> best;
    for (int i = 0; i < roundTrips; ++i) {
        const std::int64_t sent = clock.wallUs();
        agent.write(QByteArray("ping ") + QByteArray::number(i) + '\n');
        agent.waitForBytesWritten(1000);
        const auto line = shell.readLine(agent, 3s);
        const std::int64_t got = clock.wallUs();
        const auto json = documents::objectOrNull(line.value_or(""));
        if (!json.is_object() || documents::valueIn(json, "type", "") != "pong" || !json.contains("wall_us") ||
            !json["wall_us"].is_number_integer())
            break;
        const ClockView view = clockView(sent, json["wall_us"].get<std::int64_t>(), got);
        if (!best || view.errorS < best->errorS)
            best = view;
    }
    return best;
}

} // namespace

ClockView clockView(std::int64_t sentUs, std::int64_t thereUs, std::int64_t gotUs) {
    ClockView view;
    view.offsetS = (double(thereUs - sentUs) - double(gotUs - sentUs) / 2) / 1e6;
    view.errorS = double(gotUs - sentUs) / 2e6;
    return view;
}

NodeSnapshot failedProbe(const NodeEntry &node, const NodeError &error) {
    NodeSnapshot snapshot;
    snapshot.node = node;
    snapshot.trouble = error.trouble;
    snapshot.problem = error.error.what;
    snapshot.wayOut = error.error.wayOut;
    return snapshot;
}

NodeError agentError(const NodeEntry &node, const Said &said) {
    const std::string words = lastLine(said.err);
    if (said.code == 255 && node.how == "ssh")
        return sshError(node.host, said.err);
    if (said.code == 127 || said.code == 126)
        return {NodeTrouble::NoAgent, Error::badArgument(node.name + " has no lockstep-agent" +
                                                             (node.agent.empty() ? "" : " at " + node.agent),
                                                         "copy it there: lockstepctl nodes sync " + node.name)};
    if (said.late)
        return {NodeTrouble::Unreachable, Error::failed("lockstep-agent on " + node.name + " did not answer in time",
                                                        "check that machine, then try again")};
    return {NodeTrouble::OldAgent,
            Error::badArgument("lockstep-agent on " + node.name + " can't report the node's state: " +
                                   (words.empty() ? "exit code " + std::to_string(said.code) : words),
                               "update it: lockstepctl nodes sync " + node.name)};
}

NodeSnapshot probeNode(NodeShell &shell) {
    NodeSnapshot snapshot;
    snapshot.node = shell.node();
    const auto agent = shell.startAgent({"node", "--every", "3600"});
    if (const auto line = shell.readLine(*agent, 40s)) {
        auto facts = nodeFactsFromJson(*line);
        if (!facts)
            return failedProbe(snapshot.node, {NodeTrouble::OldAgent, facts.error()});
        snapshot.agentVersion = facts->agent;
        snapshot.facts = std::move(*facts);
        snapshot.clock = askClock(shell, *agent);
        agent->closeWriteChannel();
        if (!agent->waitForFinished(3000))
            agent->kill();
        agent->waitForFinished(1000);
        return snapshot;
    }
    Said said;
    said.late = agent->state() != QProcess::NotRunning && !agent->waitForFinished(500);
    if (said.late) {
        agent->kill();
        agent->waitForFinished(1000);
    }
    said.code = agent->error() == QProcess::FailedToStart ? 127 : agent->exitCode();
    said.err = endOfStderr(*agent).toStdString();
    snapshot = failedProbe(snapshot.node, agentError(snapshot.node, said));
    if (snapshot.trouble == NodeTrouble::OldAgent) {
        const Said version = shell.agent({"version"});
        const std::string words = lastLine(version.out);
        if (version.code == 0 && words.starts_with("lockstep-agent ")) {
            snapshot.agentVersion = words.substr(15, 40);
            snapshot.problem = "lockstep-agent on " + snapshot.node.name + " is version " + snapshot.agentVersion +
                               " and can't report the node's state";
        }
    }
    return snapshot;
}

NodeSnapshot probeNode(const NodeEntry &node, const SshAnswers &answers, std::stop_token stop) {
    auto shell = NodeShell::open(node, answers, std::move(stop));
    return shell ? probeNode(**shell) : failedProbe(node, shell.error());
}

} // namespace lockstep::core
