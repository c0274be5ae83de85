// SPDX-License-Identifier: MIT
#include "trainer/agent/session/further_node.h"

#include <algorithm>

#include "ipc/logging.h"
#include "trainer/agent/nodes/gathered_node_facts.h"
#include "trainer/agent/nodes/sound_reports.h"
#include "trainer/agent/ranks/node_plan.h"

namespace lockstep::agent {

namespace {
using What = NodeMessage::What;
constexpr std::chrono::milliseconds linkCheckInterval{100}, leaseCheckInterval{250};
/// After refusing connections for this long, node 0's host counts as having no agent any more.
constexpr std::chrono::milliseconds node0Gone{3000};
/// How long agent 0 has to give a stop that was asked here, and, if it does not answer, to learn how the ranks ended.
constexpr std::chrono::milliseconds stopEchoLimit{2000}, stoppedLinkLimit{5000};

std::string inSeconds(std::chrono::milliseconds time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}
} // namespace

FurtherNode::FurtherNode(LocalRun &local, Hooks hooks) : m_local(local), m_hooks(std::move(hooks)) {}

FurtherNode::~FurtherNode() {
    for (EventLoop::Token *timer : {&m_joinTimer, &m_refusedTimer, &m_leaseTimer, &m_endTimer, &m_stopTimer})
        m_local.loop().cancel(*timer);
}

// --- joining -----------------------------------------------------------------------------------------------------

Result<void> FurtherNode::begin() {
    EventLoop &loop = m_local.loop();
    const NodesPlan &nodes = m_local.plan().nodes;
    m_joinTimer = loop.after(nodes.joinLimit, [this, &nodes] {
        refuseJoin(Error::failed("agent 0 could not be reached at " + nodes.join + " within " +
                                     inSeconds(nodes.joinLimit) + " (" + m_link->lastFailure() + ")",
                                 "check the interface and the firewall of node 0: lockstepctl doctor"));
    });
    openLink();
    m_refusedTimer = loop.every(linkCheckInterval, [this, &nodes] { // node 0 did listen: its address is known
        if (m_link->refusedFor() >= node0Gone)
            refuseJoin(Error::failed("nobody listens at " + nodes.join + ": agent 0 has ended",
                                     "see its output for the reason, then start the run again"));
    });
    loop.run();
    for (EventLoop::Token *timer : {&m_joinTimer, &m_refusedTimer})
        loop.cancel(*timer);
    if (m_joinError)
        return fail(*m_joinError);
    m_leaseTimer = loop.every(leaseCheckInterval, [this] { checkLease(); });
    return {};
}

void FurtherNode::openLink() {
    const LaunchPlan &plan = m_local.plan();
    NodeLink::Options options;
    options.runId = plan.record.run;
    options.host = m_local.host();
    options.node = plan.nodes.node;
    options.token = plan.nodes.token;
    options.address = plan.nodes.join;
    options.join.what = What::Join;
    options.join.processes = static_cast<int>(plan.ranks.size());
    options.join.shared = m_local.newFolder().shared();
    options.join.devices = plan.record.deviceNames;
    options.join.machine = plan.record.machines.front();
    if (!isScript(plan.record))
        options.join.machine->torchVersion = TrainerQuestion().answer().torch;
    m_link = std::make_unique<NodeLink>(m_local.loop(), m_local.clock(), m_local.journal(), std::move(options));
    m_traces.emplace(m_local, *m_link);
    NodeLink::Handlers handlers;
    handlers.onJoined = [this] {
        m_joined = true;
        m_local.loop().quit();
    };
    handlers.onRefused = [this](const Error &why) {
        onRefused(Error::failed("agent 0 at " + m_local.plan().nodes.join + " refused: " + why.what, why.wayOut));
    };
    handlers.onOrder = [this](const NodeMessage &message) { onOrder(message); };
    handlers.onLost = [this](const std::string &why) { onLinkLost(why); };
    handlers.onBack = [this] { onLinkBack(); };
    m_link->start(std::move(handlers));
}

void FurtherNode::refuseJoin(Error why) {
    m_joinError = std::move(why);
    m_local.loop().quit();
}

void FurtherNode::onRefused(const Error &why) {
    if (m_joined)
        endWithoutNode0(why.message());
    else
        refuseJoin(why);
}

/// The agent 0 that is there now is not, or no longer, that of the ranks here.
void FurtherNode::endWithoutNode0(const std::string &why) {
    m_refused = true;
    if (m_local.over())
        m_local.journal().sayOnConsole(LogLevel::Warning, why);
    else if (m_local.started())
        m_local.ranks().abandon("node_refused", why);
    else
        endBeforeStart(RunState::Failed, exitFailed, why);
}

void FurtherNode::endBeforeStart(RunState state, int code, const std::string &reason) {
    if (!m_local.endWithoutRanks(state, code, reason))
        return;
    m_link->close();
    m_joinError = Error::failed(reason.empty() ? "the run ended before it began" : reason);
    m_hooks.drop();
}

// --- what node 0 orders ------------------------------------------------------------------------------------------

void FurtherNode::onOrder(const NodeMessage &message) {
    switch (message.what) {
    case What::Go:
        return onGo(message);
    case What::Abort:
        return onAbort(message);
    case What::Stop:
        return onStop(message);
    case What::Settle:
        m_local.plan().maxRestarts = m_restarts;
        return m_local.started() ? m_local.ranks().settle() : void();
    case What::Trace:
        return askRanks({"trace", message.by, message.steps});
    case What::Stacks:
        return askRanks({"stacks", message.by, {}});
    case What::End:
        return onEnd(message);
    default:
        return;
    }
}

/// Starts the ranks, for the first time or again. A go may be repeated after a cut.
void FurtherNode::onGo(const NodeMessage &message) {
    const int number = static_cast<int>(message.number.value_or(0));
    const bool again = m_local.started() && m_local.ranks().state() == Supervisor::State::Gone && number > m_restarts;
    if (m_local.over() || (m_local.started() && !again))
        return;
    m_restarts = number;
    LaunchPlan &plan = m_local.plan();
    plan.maxRestarts = number + message.restarts.value_or(0);
    plan.master.bindHere = false;
    plan.master.address = message.masterAddress;
    plan.master.port = message.masterPort.value_or(0);
    m_link->forgetSaid(); // those messages were about the previous ranks
    m_link->ranksStarted();
    if (again)
        m_local.agreeOn({message.epochs.value_or(0), message.steps.value_or(0)});
    const auto started = again ? m_local.ranks().again(number) : startRanks(message);
    if (started)
        return;
    reportStartFailed(started.error());
    if (again) {
        plan.maxRestarts = m_restarts;
        return m_local.ranks().settle();
    }
    m_local.endWithoutRanks(RunState::Failed, exitCodeOf(started.error()),
                            "on " + m_local.host() + ": " + started.error().message());
    reportOver();
}

/// The run begins now. Agent 0's record says the same of a folder that both see.
Result<void> FurtherNode::startRanks(const NodeMessage &go) {
    LaunchPlan &plan = m_local.plan();
    const int first = go.firstRank.value_or(0), all = go.worldSize.value_or(plan.worldSize);
    if (auto fits = checkPlace(first, all, static_cast<int>(plan.ranks.size())); !fits)
        return fits;
    placeRanks(plan, first, all);
    m_local.beginsNow();
    if (!m_local.newFolder().shared())
        m_local.writeRecord("when the ranks started is");
    return m_local.startRanks();
}

void FurtherNode::reportStartFailed(const Error &why) {
    m_local.alert("start_failed", why.message());
    NodeMessage failed;
    failed.what = What::Failed;
    failed.number = m_restarts;
    failed.reason = "on " + m_local.host() + ": " + why.message();
    failed.exitCode = exitCodeOf(why);
    m_link->say(failed);
}

void FurtherNode::onAbort(const NodeMessage &message) {
    if (message.number.value_or(0) != m_restarts)
        return; // about ranks that have been restarted since
    if (m_local.started())
        return m_local.ranks().endWithOthers(message.reason);
    endBeforeStart(RunState::Failed, exitFailed, message.reason);
}

void FurtherNode::onStop(const NodeMessage &message) {
    if (message.number.value_or(1) <= m_stopNumber)
        return;                                           // repeated after a cut
    const bool done = m_stoppedHere && m_stopNumber == 0; // without waiting for it
    m_stopNumber = message.number.value_or(1);
    m_stopNs = m_local.clock().monoNs();
    m_stopBy.reset();
    m_local.loop().cancel(m_stopTimer);
    if (m_local.started() && !done)
        m_local.ranks().stop(message.by);
}

void FurtherNode::onEnd(const NodeMessage &message) {
    const RunState state = runStateFrom(message.state).value_or(RunState::Failed);
    const int code = message.exitCode.value_or(exitFailed);
    if (!m_local.started() && !m_local.over())
        return endBeforeStart(state, code, message.reason);
    if (!m_local.over()) { // node 0 gave this node up and has now reconnected
        m_local.plan().maxRestarts = m_restarts;
        m_local.ranks().settle();
        m_local.ranks().endWithOthers(message.reason.empty() ? "the run has ended without this node" : message.reason);
        return;
    }
    RunEnd &end = m_local.end();
    const bool bothFailed = state == RunState::Failed && end.state == RunState::Failed;
    end.commandCode = bothFailed ? end.commandCode : code;
    end.state = state;
    end.resultCode = code;
    end.reason = message.reason;
    end.wallUs = m_local.clock().wallUs();
    settle();
}

// --- what is reported to it --------------------------------------------------------------------------------------

/// Node 0 stops all nodes, this one included. Without it only the ranks here are stopped.
void FurtherNode::stop(const std::string &by) {
    const std::int64_t now = m_local.clock().monoNs();
    if (m_stopNs != 0 && now - m_stopNs < Supervisor::sameStopNs)
        return;
    m_stopNs = now;
    if (m_local.over() && (m_stoppedWaiting || !m_link->up()))
        return settle();
    m_stopBy = by;
    askNode0ToStop();
    if (m_local.over()) {
        m_stoppedWaiting = true;
        return;
    }
    if (!m_link->up() || m_stoppedHere)
        return stopHere();
    if (m_stopTimer == 0)
        m_stopTimer = m_local.loop().after(stopEchoLimit, [this] { stopHere(); });
}

void FurtherNode::askNode0ToStop() {
    NodeMessage message;
    message.what = What::Stop;
    message.by = *m_stopBy;
    m_link->say(message);
}

void FurtherNode::stopHere() {
    m_local.loop().cancel(m_stopTimer);
    if (m_local.over())
        return;
    m_stoppedHere = true;
    if (m_local.started())
        m_local.ranks().stop(*m_stopBy);
    else
        endBeforeStart(RunState::Stopped, exitStopped, "stopped by " + *m_stopBy);
}

void FurtherNode::onRankFailed(int rank, const ProcessExit &exit, const std::string &reason) {
    if (exit.code == exitStopped)
        return; // the rank stopped by itself; node 0 learns it from onRanksGone() or from the end
    const auto failure = m_local.ranks().failure();
    NodeMessage failed;
    failed.what = What::Failed;
    failed.number = m_restarts;
    failed.peerLost = !exit.signal && failure && failure->peerLost;
    failed.rank = rank;
    failed.code = exit.code;
    failed.signal = exit.signal;
    failed.exitCode = failure ? failure->exitCode : exitFailed;
    failed.reason = reason;
    m_link->say(failed);
}

void FurtherNode::onRanksGone() {
    m_local.journal().requestSync();
    NodeMessage gone;
    gone.what = What::Gone;
    gone.number = m_restarts;
    gone.nextSeq = m_local.journal().nextSeq();
    const EpochNumbers::Made made = m_local.made();
    gone.epochs = made.epochs;
    gone.steps = made.steps;
    m_link->say(gone);
}

/// The ranks here are over: node 0 gets the rest of the log, and its `end` settles the run.
void FurtherNode::reportOver() {
    m_local.loop().cancel(m_leaseTimer);
    m_local.writeEnd();
    m_local.journal().finish();
    const RunEnd &end = m_local.end();
    NodeMessage over;
    over.what = What::Over;
    over.state = std::string(toString(end.state));
    over.reason = end.reason;
    over.exitCode = end.resultCode;
    over.nextSeq = m_local.journal().nextSeq();
    addSamplesTo(over);
    m_link->say(over);
    m_endTimer = m_local.loop().every(linkCheckInterval, [this] { checkNode0Gone(); });
}

void FurtherNode::addSamplesTo(NodeMessage &over) const {
    RunResult own;
    m_local.addSamplesTo(own);
    over.energy = std::move(own.energy);
    over.surroundings = std::move(own.surroundings);
    over.watching = own.watching;
    if (over.surroundings)
        over.surroundings->freeCores = m_local.plan().record.freeCores;
}

void FurtherNode::settle() {
    m_local.loop().cancel(m_endTimer);
    m_hooks.settle();
}

void FurtherNode::addToResult(RunResult &result) const {
    result.nodeLogLines[node()] = std::exchange(result.logLines, 0); // this node's folder has only its own log
}

// --- without the link --------------------------------------------------------------------------------------------

void FurtherNode::onLinkLost(const std::string &why) {
    const std::string sentence = "the link to agent 0 at " + m_link->address() + " is lost (" + why + ")";
    m_local.journal().sayOnConsole(LogLevel::Warning, sentence);
    m_local.journal().note(
        "warning", sentence + (m_stopBy ? "; the ranks here are stopped without it"
                                        : "; the ranks here are kept for " + inSeconds(m_local.plan().nodes.lease)));
    if (m_stopBy && !m_stoppedHere)
        stopHere();
}

void FurtherNode::onLinkBack() {
    m_local.journal().note("info", "agent 0 is reached again");
    if (m_stopBy)
        askNode0ToStop();
}

void FurtherNode::checkLease() {
    if (m_link->up() || m_local.over())
        return;
    const NodesPlan &nodes = m_local.plan().nodes;
    if (!m_local.started() && m_link->lostFor() > nodes.joinLimit)
        return endBeforeStart(RunState::Failed, exitFailed, "agent 0 was lost before the ranks had started");
    // No rank is left here that could be kept, and no agent 0 that could start them again.
    if (m_local.started() && m_local.ranks().state() == Supervisor::State::Gone && m_link->refusedFor() >= node0Gone)
        return m_local.ranks().settle();
    if (m_local.started() && m_link->lostFor() > nodes.lease)
        m_local.ranks().abandon("lease_over", "agent 0 at " + m_link->address() + " was not reached for " +
                                                  inSeconds(nodes.lease) + ": the ranks on " + m_local.host() + " end");
}

void FurtherNode::checkNode0Gone() {
    const std::chrono::milliseconds lease = m_local.plan().nodes.lease;
    const bool stopped = m_stopBy || m_local.end().state == RunState::Stopped;
    const auto limit = stopped ? std::min(stoppedLinkLimit, lease) : lease;
    if (!m_refused && (m_link->up() || (m_link->refusedFor() < node0Gone && m_link->lostFor() < limit)))
        return;
    m_local.journal().sayOnConsole(LogLevel::Warning,
                                   "agent 0 at " + m_link->address() + " is gone: this node ends without it");
    settle();
}

} // namespace lockstep::agent
