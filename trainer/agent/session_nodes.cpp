// The part of a session that a run on several nodes needs: node 0 with its hub, another node with its link.
#include <algorithm>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "trainer/agent/node_plan.h"
#include "trainer/agent/peer_sight.h"
#include "trainer/agent/session.h"
#include "trainer/agent/session_nodes_detail.h"

namespace lockstep::agent {

namespace {
using What = NodeMessage::What;
/// After this long of "nobody listens there" agent 0 is gone, and a node whose ranks have ended need not wait for it.
constexpr std::chrono::milliseconds agent0Gone{3000};
constexpr int mostRefusalsTold = 50;

std::string seconds(std::chrono::milliseconds time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

/// Ranks of unlike versions do not understand each other, and may wait for ever. Empty: all are of one line, as far as is known.
std::string unlikeTorch(const std::vector<MachineRecord> &machines) {
    const auto majorMinor = [](const std::string &version) {
        const auto first = version.find('.');
        return version.substr(0, first == std::string::npos ? first : version.find_first_of(".+", first + 1));
    };
    std::set<std::string> lines;
    std::string told;
    for (const MachineRecord &machine : machines)
        if (!machine.torchVersion.empty()) {
            lines.insert(majorMinor(machine.torchVersion));
            told += (told.empty() ? "" : ", ") + machine.torchVersion + " on " + machine.host;
        }
    return lines.size() < 2 ? std::string()
                            : "the nodes have unlike versions of PyTorch (" + told +
                                  "); bring one that all can use to them: lockstepctl nodes sync";
}
} // namespace

// --- node 0 ------------------------------------------------------------------------------------------------------

Result<void> Session::openHub() {
    NodeHub::Options options;
    options.address = m_plan.nodes.listenAddress;
    options.port = m_plan.nodes.listenPort;
    options.announce = m_plan.nodes.announce;
    options.token = m_plan.nodes.token;
    options.titles = m_plan.nodes.titles;
    options.processes = m_plan.nodes.processes;
    options.ownProcesses = static_cast<int>(m_plan.ranks.size());
    auto hub = NodeHub::open(m_loop, m_clock, folder(), runId(), std::move(options));
    if (!hub)
        return fail(hub.error());
    m_hub = std::move(*hub);
    if (!isScript(m_plan.record))
        m_torch.emplace(); // answered while the other nodes join
    writeJoinFile();
    startHub();
    m_joinTimer = m_loop.after(m_plan.nodes.joinLimit, [this] {
        const std::string reason = m_hub->absent() + " did not join within " + seconds(m_plan.nodes.joinLimit) +
                                   "; see that its agent starts and reaches " + m_hub->join();
        alert("error", "node_absent", reason);
        concludeUnbegun(RunState::Failed, exitFailed, reason);
    });
    return {};
}

/// For nodes that see this folder: 0600, in a 0700 folder, and gone when all have joined.
void Session::writeJoinFile() {
    const nlohmann::ordered_json json = {{"join", m_hub->join()}, {"token", m_hub->token()}};
    if (const auto written = realFileSystem().writeAtomically(folder().join(), json.dump() + "\n"); !written)
        logWarning(written.error().message());
}

void Session::startHub() {
    NodeHub::Handlers handlers;
    handlers.onAllJoined = [this] { startAll(); };
    handlers.onFailed = [this](int other, const NodeMessage &failed) { takeFailure(other, failed); };
    handlers.onLink = [this](const LinkFrame &link) { takeLink(link); };
    handlers.onExit = [this](const RankExit &exit) { m_exits.push_back(exit); };
    handlers.onTrace = [this](int node, TraceInbox::Whole trace) { takeTrace(node, std::move(trace)); };
    handlers.onGone = [this] { lookAtRestart(); };
    handlers.onControl = [this](const Control &control) { takeControl(control); };
    handlers.onRefused = [this](const std::string &message) {
        if (++m_refusals <= mostRefusalsTold) // a scanner must not fill the log
            alert("warning", "connection_refused",
                  message + (m_refusals == mostRefusalsTold ? "; further ones are not told" : ""));
    };
    m_hub->start(std::move(handlers));
}

void Session::startAll() {
    if (m_over)
        return;
    m_loop.cancel(m_joinTimer);
    std::error_code ignored;
    std::filesystem::remove(folder().join(), ignored);
    const std::vector<int> counts = m_hub->processes();
    int worldSize = 0;
    for (const int count : counts)
        worldSize += count;
    placeRanks(m_plan, 0, worldSize);

    RunRecord &record = m_plan.record;
    record.processes = worldSize;
    for (const std::string &device : m_hub->devices())
        record.deviceNames.push_back(device);
    if (m_torch)
        record.machines.front().torchVersion = m_torch->answer().torch;
    for (MachineRecord &machine : m_hub->machines())
        record.machines.push_back(std::move(machine));
    if (const auto written = realFileSystem().writeAtomically(folder().config(), toJson(record)); !written)
        alert("warning", "record_unwritten",
              "the other nodes' machines are not in config.json: " + written.error().message());
    for (int other = 1; other <= m_hub->count(); ++other)
        if (const LogWindow *log = m_hub->window(other))
            m_socket->addLog(other, *log);

    if (const std::string unlike = unlikeTorch(record.machines); !unlike.empty()) {
        alert("error", "torch_differs", unlike);
        return concludeUnbegun(RunState::Failed, exitBadArguments, unlike);
    }
    if (auto begun = begin(); !begun) {
        alert("error", "start_failed", begun.error().message());
        return concludeUnbegun(RunState::Failed, exitCodeOf(begun.error()), begun.error().message());
    }
    tellGo();
    m_journal->append(LogFrame{"info",
                               "all " + std::to_string(counts.size()) +
                                   " nodes have joined: " + std::to_string(worldSize) + " ranks start",
                               "agent"});
}

void Session::takeLink(const LinkFrame &link) {
    m_journal->append(LinkFrame(link));
    if (link.link == "lost" && !m_over)
        alert("warning", "link_lost",
              "the link to " + link.host + " is lost, its training state unknown: " + link.reason);
    m_journal->requestSync();
    if (link.link != "lost") {
        m_unseen.erase(link.ofNode);
        return;
    }
    m_unseen.insert(link.ofNode);
    if (m_sightTimer == 0 && !m_over)
        m_sightTimer = m_loop.every(lookInterval, [this] { lookAtLostNodes(); });
}

/// A lost link may be the link alone, or the node: the connections of the ranks here with those there tell which.
void Session::lookAtLostNodes() {
    std::erase_if(m_unseen, [this](int node) { return !m_hub->isLost(node) || tellSight(node); });
    if (m_unseen.empty())
        m_loop.cancel(m_sightTimer);
}

bool Session::tellSight(int node) {
    const std::string address = addressOfPeer(m_hub->peer(node)), host = m_hub->title(node);
    const auto &own = m_plan.record.machines.front().interfaces;
    if (std::any_of(own.begin(), own.end(), [&](const auto &one) { return one.second == address; }))
        return true; // this machine itself
    const PeerSight sight = lookAtPeer(address);
    switch (judge(sight)) {
    case PeerVerdict::Gone:
        alert("error", "node_gone",
              host + " is gone without a word or cut off: neither its agent nor its ranks are heard, and " +
                  std::to_string(sight.unanswered) + " of " + std::to_string(sight.connections) +
                  " connections of the ranks here with it have had no answer for " +
                  seconds(std::chrono::duration_cast<std::chrono::seconds>(*sight.lastHeard)));
        return true;
    case PeerVerdict::Alive:
        alert("warning", "node_alive",
              "only the link between the agents is lost: " + host + " still answers the ranks here");
        return true;
    case PeerVerdict::Unknown:
        break;
    }
    return false;
}

void Session::tellGo() {
    m_hub->go(m_plan.nodes.announce.empty() ? m_plan.master.address : m_plan.nodes.announce, m_supervisor->masterPort(),
              m_start, m_plan.maxRestarts - m_start);
}

void Session::waitForNodes() {
    if (m_outcome != RunState::Done && !m_stopAsked)
        m_hub->abort(m_nodeFailure ? m_nodeFailure->reason : m_ending.reason);
    m_nodesTimer = m_loop.every(lookInterval, [this] { lookAtNodes(); });
    lookAtNodes();
}

void Session::lookAtNodes() {
    const bool failed = m_outcome == RunState::Failed;
    if (!m_hub->allEnded() && !m_hub->onlyLostFor(patienceClosed, failed ? patienceFailed : m_plan.nodes.lease))
        return;
    m_endWallUs = m_clock.wallUs();
    adoptNodesOutcome();
    settle();
}

/// What the other nodes said of their ends, put together with our own.
void Session::adoptNodesOutcome() {
    const std::string lost = m_hub->lostNodes();
    const auto worst = m_hub->worstEnd();
    if (m_nodeFailure && !m_stopAsked) {
        const NodeMessage &failed = *m_nodeFailure;
        m_outcome = RunState::Failed;
        m_ending = {failed.exitCode.value_or(exitFailed),
                    failed.signal ? 128 + *failed.signal : failed.code.value_or(exitFailed), failed.reason};
    } else if (m_outcome == RunState::Done && worst && runStateFrom(worst->state) != RunState::Done) {
        m_outcome = runStateFrom(worst->state).value_or(RunState::Failed);
        const int code = worst->exitCode.value_or(exitFailed);
        m_ending = {code, code, worst->reason};
    }
    if (lost.empty())
        return;
    // A rank that misses its peer fails in the same moment in which the other agent's connection ends: that is why.
    if (const auto own = m_supervisor->failure(); own && !own->bySignal && !m_nodeFailure)
        if (const std::string suspect = m_hub->closedAround(own->monoNs, sameMomentNs); !suspect.empty())
            m_ending.reason = "the agent on " + suspect + " ended without a word; then " + m_ending.reason;
    alert("error", "node_lost",
          "the link to " + lost +
              " did not come back: how the ranks there ended, and the rest of the log, are unknown");
    if (m_outcome == RunState::Done) {
        m_outcome = RunState::Failed;
        m_ending = {exitFailed, exitFailed,
                    "the link to " + lost + " did not come back: how its ranks ended is unknown"};
    }
}

// --- another node ------------------------------------------------------------------------------------------------

/// Until agent 0 has taken us in, or will not: the loop runs so that a signal ends the wait.
Result<void> Session::joinRun() {
    watchSignals();
    m_joinTimer = m_loop.after(m_plan.nodes.joinLimit, [this] {
        m_joinError = Error::failed("agent 0 could not be reached at " + m_plan.nodes.join + " within " +
                                        seconds(m_plan.nodes.joinLimit) + " (" + m_link->lastFailure() + ")",
                                    "check the interface and the firewall of node 0: lockstepctl doctor");
        m_loop.quit();
    });
    openLink();
    EventLoop::Token gone = m_loop.every(lookInterval, [this] { // it has listened before, or we had no address
        if (m_link->refusedFor() < agent0Gone)
            return;
        m_joinError = Error::failed("nobody listens at " + m_plan.nodes.join + ": agent 0 has ended",
                                    "look why, then start the run again");
        m_loop.quit();
    });
    m_loop.run();
    for (EventLoop::Token *timer : {&m_joinTimer, &gone})
        m_loop.cancel(*timer);
    if (m_joinError)
        return fail(*m_joinError);
    m_nodesTimer = m_loop.every(std::chrono::milliseconds(250), [this] { watchLease(); });
    return {};
}

void Session::openLink() {
    NodeLink::Options options;
    options.runId = runId();
    options.host = m_host;
    options.node = node();
    options.token = m_plan.nodes.token;
    options.address = m_plan.nodes.join;
    options.join.what = What::Join;
    options.join.processes = static_cast<int>(m_plan.ranks.size());
    options.join.shared = m_folder.shared();
    options.join.devices = m_plan.record.deviceNames;
    options.join.machine = m_plan.record.machines.front();
    if (!isScript(m_plan.record))
        options.join.machine->torchVersion = TrainerQuestion().answer().torch;
    m_link = std::make_unique<NodeLink>(m_loop, m_clock, *m_journal, std::move(options));
    m_link->start({[this] { m_loop.quit(); },
                   [this](const Error &why) {
                       m_joinError =
                           Error::failed("agent 0 at " + m_plan.nodes.join + " refused: " + why.what, why.wayOut);
                       m_loop.quit();
                   },
                   [this](const NodeMessage &message) { takeOrder(message); },
                   [this](const std::string &why) { onLinkLost(why); },
                   [this] {
                       m_journal->append(LogFrame{"info", "agent 0 is reached again", "agent"});
                   }});
}

void Session::takeOrder(const NodeMessage &message) {
    switch (message.what) {
    case What::Go:
        return takeGo(message);
    case What::Abort:
        if (message.number.value_or(0) != m_start)
            return;
        if (m_supervisor)
            return m_supervisor->endWithOthers(message.reason);
        return concludeUnbegun(RunState::Failed, exitFailed, message.reason);
    case What::Stop:
        if (message.number.value_or(1) <= m_stopNumber)
            return; // told again after a cut
        m_stopNumber = message.number.value_or(1);
        m_stopAsked = true;
        if (m_supervisor)
            return m_supervisor->stop(message.by);
        return;
    case What::Settle:
        m_plan.maxRestarts = m_start;
        return m_supervisor ? m_supervisor->settle() : void();
    case What::Trace:
        return askForTrace({"trace", message.by, message.steps});
    case What::End:
        return concludeWith(runStateFrom(message.state).value_or(RunState::Failed),
                            message.exitCode.value_or(exitFailed), message.reason);
    default:
        return;
    }
}

void Session::takeGo(const NodeMessage &message) {
    const int number = static_cast<int>(message.number.value_or(0));
    const bool again = m_supervisor && m_supervisor->state() == Supervisor::State::Gone && number > m_start;
    if (m_over || (m_supervisor && !again))
        return;
    m_start = number;
    m_plan.maxRestarts = number + message.restarts.value_or(0);
    m_plan.master.bindHere = false;
    m_plan.master.address = message.masterAddress;
    m_plan.master.port = message.masterPort.value_or(0);
    m_link->forgetSaid(); // of the ranks before
    if (!again)
        placeRanks(m_plan, message.firstRank.value_or(0), message.worldSize.value_or(m_plan.worldSize));
    auto begun = again ? m_supervisor->again(number) : begin();
    if (begun)
        return;
    alert("error", "start_failed", begun.error().message());
    NodeMessage failed;
    failed.what = What::Failed;
    failed.number = m_start;
    failed.reason = "on " + m_host + ": " + begun.error().message();
    failed.exitCode = exitCodeOf(begun.error());
    m_link->say(failed);
    if (again) {
        m_plan.maxRestarts = m_start;
        return m_supervisor->settle();
    }
    m_outcome = RunState::Failed;
    m_ending = {*failed.exitCode, *failed.exitCode, failed.reason};
    m_over = true;
    endTimers();
    tellOver();
}

void Session::onLinkLost(const std::string &why) {
    const std::string sentence = "the link to agent 0 at " + m_link->address() + " is lost (" + why + ")";
    logWarning(sentence);
    m_journal->append(
        LogFrame{"warning", sentence + "; the ranks here are kept for " + seconds(m_plan.nodes.lease), "agent"});
}

void Session::watchLease() {
    if (m_link->up() || m_over)
        return;
    if (!m_supervisor && m_link->lostFor() > m_plan.nodes.joinLimit)
        return concludeUnbegun(RunState::Failed, exitFailed, "agent 0 was lost before the ranks had started");
    if (m_supervisor && m_link->lostFor() > m_plan.nodes.lease)
        m_supervisor->abandon("lease_over", "agent 0 at " + m_link->address() + " was not reached for " +
                                                seconds(m_plan.nodes.lease) + ": the ranks on " + m_host + " end");
}

/// The ranks here are gone: agent 0 gets the rest of the log and says how the run ended.
void Session::tellOver() {
    say(m_outcome, m_ending.reason);
    m_journal->finish();
    NodeMessage over;
    over.what = What::Over;
    over.state = std::string(toString(m_outcome));
    over.reason = m_ending.reason;
    over.exitCode = m_ending.resultCode;
    over.nextSeq = m_journal->nextSeq();
    m_link->say(over);
    m_nodesTimer = m_loop.every(lookInterval, [this] { lookAtLink(); });
}

void Session::lookAtLink() {
    if (m_link->up() || (m_link->refusedFor() < agent0Gone && m_link->lostFor() < m_plan.nodes.lease))
        return;
    logWarning("agent 0 at " + m_link->address() + " is gone: this node ends without it");
    settle();
}

/// Agent 0 has said how the run ended.
void Session::concludeWith(RunState state, int code, const std::string &reason) {
    if (!m_supervisor && !m_over)
        return concludeUnbegun(state, code, reason);
    if (!m_over) { // it gave this node up, and is reached again now
        m_plan.maxRestarts = m_start;
        m_supervisor->settle();
        m_supervisor->endWithOthers(reason.empty() ? "the run has ended without this node" : reason);
        return;
    }
    m_outcome = state;
    m_ending = {code, state == RunState::Failed ? m_ending.commandCode : code, reason};
    m_endWallUs = m_clock.wallUs();
    settle();
}

/// Before any rank had started here.
void Session::concludeUnbegun(RunState state, int code, const std::string &reason) {
    if (std::exchange(m_over, true))
        return;
    endTimers();
    m_outcome = state;
    m_ending = {code, code, reason};
    m_endWallUs = m_clock.wallUs();
    if (m_hub) {
        std::error_code ignored;
        m_hub->abort(reason);
        std::filesystem::remove(folder().join(), ignored);
        return settle();
    }
    if (m_link)
        m_link->close();
    m_joinError = Error::failed(reason.empty() ? "the run ended before it began" : reason);
    m_folder.discard(); // nothing was done here
    m_loop.quit();
}

} // namespace lockstep::agent
