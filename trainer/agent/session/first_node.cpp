// SPDX-License-Identifier: MIT
#include "trainer/agent/session/first_node.h"

#include <filesystem>
#include <numeric>
#include <set>

#include <nlohmann/json.hpp>

#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "ipc/nonfinite_stop.h"
#include "ipc/placement.h"
#include "trainer/agent/devices/energy_sum.h"
#include "trainer/agent/devices/surroundings_sum.h"
#include "trainer/agent/ranks/node_plan.h"

namespace lockstep::agent {

namespace {
constexpr std::chrono::milliseconds nodesCheckInterval{100}, leaveCheckInterval{20};
/// How long to wait for a lost node after the ranks here have ended: if the node closed its connection (its agent died,
/// or it would have reconnected by now), and if the run has failed or was stopped anyway. Slurm and Kubernetes kill what
/// is left 30 s after a stop.
constexpr std::chrono::milliseconds patienceClosed{5000}, patienceEnding{10'000};
constexpr int stopsThatKill = 2; ///< the second stop; the next one waits for no node any more
constexpr int mostLeaveChecks = 50;

/// Ranks with different versions of PyTorch do not understand each other and may wait for ever. Empty if all nodes have
/// the same major and minor version, as far as is known.
std::string differentTorch(const std::vector<MachineRecord> &machines) {
    const auto majorMinor = [](const std::string &version) {
        const auto first = version.find('.');
        return version.substr(0, first == std::string::npos ? first : version.find_first_of(".+", first + 1));
    };
    std::set<std::string> lines;
    std::string list;
    for (const MachineRecord &machine : machines)
        if (!machine.torchVersion.empty()) {
            lines.insert(majorMinor(machine.torchVersion));
            list += (list.empty() ? "" : ", ") + machine.torchVersion + " on " + machine.host;
        }
    return lines.size() < 2 ? std::string()
                            : "the nodes have different versions of PyTorch (" + list +
                                  "); install one that all can use: lockstepctl nodes sync";
}
} // namespace

FirstNode::FirstNode(LocalRun &local, Hooks hooks)
    : m_local(local), m_hooks(std::move(hooks)), m_traces(local.loop(), local.journal(), local.folder()) {}

FirstNode::~FirstNode() {
    cancelTimers();
    m_local.loop().cancel(m_leaveTimer);
}

void FirstNode::cancelTimers() {
    for (EventLoop::Token *timer : {&m_joinTimer, &m_restartTimer, &m_endTimer})
        m_local.loop().cancel(*timer);
    if (m_lostNodes)
        m_lostNodes->stop();
}

// --- until all have joined ---------------------------------------------------------------------------------------

Result<void> FirstNode::begin() {
    const LaunchPlan &plan = m_local.plan();
    NodeListener::Options options;
    options.address = plan.nodes.listenAddress;
    options.port = plan.nodes.listenPort;
    options.announce = plan.nodes.announce;
    options.token = plan.nodes.token;
    options.runId = plan.record.run;
    auto hub = NodeHub::open(m_local.loop(), m_local.clock(), m_local.folder(), std::move(options), plan.nodes.titles,
                             static_cast<int>(plan.ranks.size()));
    if (!hub)
        return fail(hub.error());
    m_hub = std::move(*hub);
    m_local.disk().watchToo([this] { return m_hub->logs(); });
    m_lostNodes.emplace(m_local, *m_hub);
    if (!isScript(plan.record))
        m_trainer.emplace();
    writeJoinFile();
    openHub();
    m_joinTimer = m_local.loop().after(plan.nodes.joinLimit, [this] {
        const auto limit = std::chrono::duration_cast<std::chrono::seconds>(m_local.plan().nodes.joinLimit);
        const std::string reason = m_hub->absent() + " did not join within " + std::to_string(limit.count()) +
                                   " s; see that its agent starts and reaches " + m_hub->join();
        m_local.alert("node_absent", reason);
        endBeforeStart(RunState::Failed, exitFailed, reason);
    });
    return {};
}

void FirstNode::openHub() {
    NodeHub::Handlers handlers;
    handlers.onAllJoined = [this] { onAllJoined(); };
    handlers.onFailed = [this](const NodeMessage &failed) { onNodeFailed(failed); };
    handlers.onLink = [this](const LinkFrame &link) { onLink(link); };
    handlers.onExit = [this](const RankExit &exit) { m_local.end().exits.push_back(exit); };
    handlers.onRankFrame = [this](int rank, const Frame &frame) { m_local.onRankFrame(rank, frame); };
    handlers.onTrace = [this](int node, const TraceInbox::Whole &trace) {
        m_traces.store(m_hub->node(node).title(), trace);
    };
    handlers.onGone = [this] { checkRestart(); };
    handlers.onControl = m_hooks.onControl;
    handlers.onRefused = [this](const std::string &message) { onRefused(message); };
    handlers.onOverstep = [this](const std::string &message) { m_local.alert("node_oversteps", message); };
    m_hub->start(std::move(handlers));
}

/// For nodes that see this folder. The file has mode 0600, the folder 0700; it is removed when all have joined.
void FirstNode::writeJoinFile() {
    const nlohmann::ordered_json json = {{"join", m_hub->join()}, {"token", m_hub->token()}};
    if (const auto written = realFileSystem().writeAtomically(m_local.folder().join(), json.dump() + "\n"); !written)
        logWarning(written.error().message());
}

void FirstNode::removeJoinFile() {
    std::error_code ignored;
    std::filesystem::remove(m_local.folder().join(), ignored);
}

void FirstNode::onRefused(const std::string &message) {
    if (const auto note = m_refusals.next(message))
        m_local.alert("connection_refused", *note);
}

void FirstNode::onAllJoined() {
    if (m_local.over())
        return;
    m_local.loop().cancel(m_joinTimer);
    removeJoinFile();
    const std::vector<int> counts = m_hub->processes();
    const int worldSize = std::accumulate(counts.begin(), counts.end(), 0);
    placeRanks(m_local.plan(), 0, worldSize);
    recordNodes(worldSize);
    for (int node = 1; node <= m_hub->count(); ++node)
        if (const LogWindow *log = m_hub->node(node).window())
            m_local.socket().addLog(node, *log);

    if (const std::string different = differentTorch(m_local.plan().record.machines); !different.empty()) {
        m_local.alert("torch_differs", different);
        return endBeforeStart(RunState::Failed, exitBadArguments, different);
    }
    if (auto started = m_local.startRanks(); !started) {
        m_local.alert("start_failed", started.error().message());
        return endBeforeStart(RunState::Failed, exitCodeOf(started.error()), started.error().message());
    }
    sendGo();
    m_local.journal().note("info", "all " + std::to_string(counts.size()) +
                                       " nodes have joined: " + std::to_string(worldSize) + " ranks start");
}

/// Adds the other nodes' devices and machines to config.json. So far its configuration, and the name if nobody gave one,
/// may be about this node's devices alone.
void FirstNode::recordNodes(int worldSize) {
    RunRecord &record = m_local.plan().record;
    record.processes = worldSize;
    if (record.config) {
        const bool unnamed = record.name == defaultName(*record.config);
        takeDevicesOfAll(*record.config, worldSize);
        if (unnamed)
            record.name = defaultName(*record.config);
    }
    for (const std::string &device : m_hub->devices())
        record.deviceNames.push_back(device);
    if (m_trainer)
        record.machines.front().torchVersion = m_trainer->answer().torch;
    for (MachineRecord &machine : m_hub->machines())
        record.machines.push_back(std::move(machine));
    m_local.beginsNow();
    if (const auto written = realFileSystem().writeAtomically(m_local.folder().config(), toJson(record)); !written)
        m_local.alert("record_unwritten",
                      "the other nodes' machines are not in config.json: " + written.error().message());
}

void FirstNode::sendGo() {
    const LaunchPlan &plan = m_local.plan();
    m_hub->go(plan.nodes.announce.empty() ? plan.master.address : plan.nodes.announce, m_local.ranks().masterPort(),
              m_restarts, plan.maxRestarts - m_restarts, m_local.agreed());
}

void FirstNode::endBeforeStart(RunState state, int code, const std::string &reason) {
    if (!m_local.endWithoutRanks(state, code, reason))
        return;
    m_hub->abort(reason);
    removeJoinFile();
    settle();
}

// --- while ranks run ---------------------------------------------------------------------------------------------

void FirstNode::stop(const std::string &by) {
    const std::int64_t now = m_local.clock().monoNs();
    if (stopAsked() && now - m_stopNs < Supervisor::sameStopNs)
        return; // the same stop, from this node and from another one
    m_stopNs = now;
    if (++m_stops == 1)
        m_stopBy = by;
    if (m_local.over() && (m_stops > stopsThatKill || (m_stops > 1 && onlyLostAreLeft())))
        return endWithNodes();
    m_hub->stop(by);
    if (m_local.over())
        return m_local.journal().note("info", "stop asked by " + by + " while ranks of other nodes still ran");
    if (m_local.started())
        m_local.ranks().stop(by);
    else
        endBeforeStart(RunState::Stopped, exitStopped, "stopped by " + by);
}

void FirstNode::askRanks(const Control &control) {
    if (control.command != "trace" || control.steps.value_or(0) >= 1)
        m_hub->askRanks(control);
    m_local.askRanks(control);
}

void FirstNode::onLink(const LinkFrame &link) {
    m_local.journal().append(LinkFrame(link));
    if (link.link == "lost" && !m_local.over())
        m_local.alert("link_lost", "the link to " + link.host + " is lost, its training state unknown: " + link.reason);
    m_local.journal().requestSync();
    m_lostNodes->onLink(link);
}

void FirstNode::onRankFailed(int rank, const ProcessExit &exit, const std::string &reason) {
    if (exit.code == exitStopped) // the rank stopped by itself, so all nodes stop
        return m_hub->stop("rank " + std::to_string(rank));
    const auto failure = m_local.ranks().failure();
    m_cause.onOwn(exit.signal.has_value(), !exit.signal && failure && failure->peerLost, m_local.clock().monoNs());
    m_hub->abort(reason);
}

void FirstNode::onNodeFailed(const NodeMessage &failed) {
    m_cause.onReported(failed, m_local.started() ? m_local.ranks().failure() : std::nullopt, m_local.clock().monoNs());
    if (!m_local.started())
        return endBeforeStart(RunState::Failed, exitFailed, failed.reason);
    m_local.ranks().endWithOthers(failed.reason);
    m_hub->abort(failed.reason);
}

void FirstNode::onRanksGone() {
    if (m_local.ranks().outcome() == RunState::Stopped) // the ranks stopped by themselves, so all nodes stop
        m_hub->stop("a rank of " + m_local.host());
    m_local.loop().cancel(m_restartTimer);
    m_restartTimer = m_local.loop().every(nodesCheckInterval, [this] { checkRestart(); });
    checkRestart();
}

/// Called when the ranks of all nodes that are left are gone: restarts them or ends the run.
void FirstNode::checkRestart() {
    if (!m_local.started() || m_local.ranks().state() != Supervisor::State::Gone)
        return;
    Supervisor &ranks = m_local.ranks();
    const auto &theirs = m_cause.reported();
    const bool failed = ranks.failure() || theirs;
    const bool all = m_hub->allGone();
    if (!all && !m_hub->onlyLostFor(patienceClosed, failed ? patienceEnding : m_local.plan().nodes.lease))
        return;
    const std::string reason = theirs ? theirs->reason : ranks.reason();
    const int code = theirs ? theirs->exitCode.value_or(exitFailed) : ranks.exitCode();
    m_local.loop().cancel(m_restartTimer);
    if (all && failed && code == exitFailed && !stopAsked() && !isNonfiniteStop(reason))
        return restart(reason);
    m_hub->settle();
    ranks.settle();
}

void FirstNode::restart(const std::string &reason) {
    ++m_restarts;
    m_local.alert(ranksRestarted, "all ranks of all nodes are started again, " + std::to_string(m_restarts) + " of " +
                                      std::to_string(m_local.plan().maxRestarts) + " times, since " + reason);
    m_cause.reset();
    m_local.end().exits.clear(); // result.json has the exits of the last start; the logs have all
    m_local.agreeOn(m_hub->leastMade(m_local.made()));
    if (auto started = m_local.ranks().again(m_restarts); !started) {
        m_local.alert("start_failed", started.error().message());
        m_hub->settle();
        return m_local.ranks().settle();
    }
    sendGo();
}

// --- the end -----------------------------------------------------------------------------------------------------

void FirstNode::onRanksOver() {
    cancelTimers();
    m_hub->settle(); // the ranks here are not started again, so no others are
    if (m_local.end().state != RunState::Done && !stopAsked())
        m_hub->abort(m_cause.reported() ? m_cause.reported()->reason : m_local.end().reason);
    m_endTimer = m_local.loop().every(nodesCheckInterval, [this] { checkNodesEnded(); });
    checkNodesEnded();
}

void FirstNode::checkNodesEnded() {
    if (!m_hub->allEnded() &&
        !m_hub->onlyLostFor(patienceClosed, endsAnyway() ? patienceEnding : m_local.plan().nodes.lease))
        return;
    endWithNodes();
}

void FirstNode::endWithNodes() {
    m_local.end().wallUs = m_local.clock().wallUs();
    addNodesEnd();
    addNodesTime();
    settle();
}

bool FirstNode::endsAnyway() const {
    return m_local.end().state == RunState::Failed || stopAsked();
}

bool FirstNode::onlyLostAreLeft() const {
    return m_hub->onlyLostFor(std::chrono::milliseconds(0), std::chrono::milliseconds(0));
}

/// Combines how the other nodes' ranks ended with how the ranks here ended.
void FirstNode::addNodesEnd() {
    RunEnd &end = m_local.end();
    const std::string lost = m_hub->lostNodes();
    const auto worst = m_hub->worstEnd();
    const auto &theirs = m_cause.reported();
    if (theirs && !(stopAsked() && end.state == RunState::Stopped)) { // ranks that failed before the stop have failed
        end.state = RunState::Failed;
        // Only a rank of this node can say that the run was asked for wrongly.
        const auto own = m_local.started() ? m_local.ranks().failure() : std::nullopt;
        end.resultCode = own ? own->exitCode : exitFailed;
        end.commandCode = theirs->signal ? 128 + *theirs->signal : theirs->code.value_or(exitFailed);
        end.reason = theirs->reason;
    } else if (end.state == RunState::Done && worst && runStateFrom(worst->state) != RunState::Done) {
        end.state = runStateFrom(worst->state).value_or(RunState::Failed);
        end.resultCode = end.commandCode = worst->exitCode.value_or(exitFailed);
        end.reason = end.state == RunState::Stopped && stopAsked() ? "stopped by " + m_stopBy : worst->reason;
    }
    addUnreported();
    if (lost.empty())
        return;
    // If a rank here failed at the moment the other agent's connection was closed, the lost peer is the cause.
    if (const auto own = m_local.ranks().failure(); own && !own->bySignal && !theirs)
        if (const std::string suspect = m_hub->closedAround(own->monoNs, sameMomentNs); !suspect.empty())
            end.reason = "the agent on " + suspect + " ended without reporting why; then " + end.reason;
    m_local.alert("node_lost",
                  "the link to " + lost +
                      " did not come back: how the ranks there ended and the rest of their log are unknown");
}

/// The run lasts until the last rank of any node has ended.
void FirstNode::addNodesTime() {
    for (int number = 1; number <= m_hub->count(); ++number)
        if (const auto ended = m_hub->node(number).lastExitNs())
            m_local.lastsUntil(*ended);
}

/// Nobody knows that ranks have succeeded whose node has not said so.
void FirstNode::addUnreported() {
    RunEnd &end = m_local.end();
    const std::string lost = m_hub->lostNodes(), silent = m_hub->unendedNodes();
    if (end.state != RunState::Done || (lost.empty() && silent.empty()))
        return;
    const std::string unknown = !lost.empty()
                                    ? "the link to " + lost + " did not come back: how its ranks ended is unknown"
                                    : "how the ranks on " + silent + " ended was not waited for and is unknown";
    end.state = stopAsked() ? RunState::Stopped : RunState::Failed;
    end.resultCode = end.commandCode = stopAsked() ? exitStopped : exitFailed;
    end.reason = stopAsked() ? "stopped by " + m_stopBy + "; " + unknown : unknown;
}

void FirstNode::settle() {
    if (std::exchange(m_settled, true))
        return;
    cancelTimers();
    collectTraces();
    m_local.writeEnd();
    m_hooks.settle();
}

void FirstNode::addToResult(RunResult &result) const {
    if (m_local.started())
        m_local.reported().addWarnings(result, m_local.plan().record); // the ranks of a run number their epochs alike
    result.nodeLogLines = m_hub->logLines();
    if (result.surroundings)
        result.surroundings->freeCores = m_local.plan().record.freeCores;
    std::vector<NodeEnergy> energies = {{m_local.host(), result.energy}};
    std::vector<NodeSurroundings> surroundings = {{m_local.host(), result.surroundings}};
    std::vector<std::optional<Watching>> watching = {result.watching};
    const NodeMessage silent; // says nothing of its node
    for (int number = 1; number <= m_hub->count(); ++number) {
        const RemoteNode &node = m_hub->node(number);
        const NodeMessage &over = node.over() ? *node.over() : silent;
        energies.push_back({node.title(), over.energy});
        surroundings.push_back({node.title(), over.surroundings});
        watching.push_back(over.watching);
    }
    result.energy = energyOfAll(energies);
    result.surroundings = surroundingsOfAll(surroundings);
    result.watching = watchingOfAll(watching);
}

void FirstNode::onResultWritten() {
    const RunEnd &end = m_local.end();
    m_hub->end(end.state, end.reason, end.resultCode);
}

/// The other agents close their links when they receive the end; they have a second for that.
void FirstNode::leave(std::function<void()> done) {
    m_leaveTimer = m_local.loop().every(leaveCheckInterval, [this, done = std::move(done)] {
        if (!m_hub->connected() || m_leaveChecks++ > mostLeaveChecks)
            done();
    });
}

// --- traces ------------------------------------------------------------------------------------------------------

void FirstNode::collectTraces() {
    m_traces.merge(m_local.started() ? tracesOfAll() : tracesOfRanks(m_local.plan()));
}

/// Every rank of the run, with the offset of its node's clock. Ranks behind a lost link are not waited for.
std::vector<RankTrace> FirstNode::tracesOfAll() const {
    std::vector<RankTrace> ranks = tracesOfRanks(m_local.plan());
    const std::vector<int> counts = m_hub->processes(), first = firstRanks(counts);
    for (int number = 1; number <= m_hub->count(); ++number) {
        const RemoteNode &node = m_hub->node(number);
        const auto clock = node.monoClock();
        const bool away = node.isLost() || node.hasEnded();
        const std::string missing = !clock ? "the clock of " + node.title() + " is unknown"
                                    : away ? "nothing came of it from " + node.title()
                                           : std::string();
        for (int i = 0; i < counts[static_cast<std::size_t>(number)]; ++i)
            ranks.push_back({first[static_cast<std::size_t>(number)] + i, clock ? clock->offsetS : 0.0,
                             clock ? clock->roundTripS / 2 : 0.0, missing});
    }
    return ranks;
}

} // namespace lockstep::agent
