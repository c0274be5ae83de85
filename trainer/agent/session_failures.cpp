// The part of a session that says which failure of a run on several nodes is the cause, and starts all ranks again.
#include "trainer/agent/session.h"
#include "trainer/agent/session_nodes_detail.h"

namespace lockstep::agent {

using What = NodeMessage::What;

void Session::tellFailure(int rank, const ProcessExit &exit, const std::string &reason) {
    if (exit.code == exitStopped) // it stopped by itself: so do all
        return m_hub ? m_hub->stop("rank " + std::to_string(rank)) : void();
    const bool peerLost = !exit.signal && m_supervisor->failure() && m_supervisor->failure()->peerLost;
    if (m_hub) {
        const bool theirs =
            m_nodeFailure && !(m_nodeFailure->peerLost && !peerLost) &&
            !(exit.signal && !m_nodeFailure->signal && m_clock.monoNs() - m_nodeFailureNs < sameMomentNs);
        if (!theirs)
            m_nodeFailure.reset();
        return m_hub->abort(reason);
    }
    if (!m_link)
        return;
    NodeMessage failed;
    failed.what = What::Failed;
    failed.number = m_start;
    failed.peerLost = peerLost;
    failed.rank = rank;
    failed.code = exit.code;
    failed.signal = exit.signal;
    failed.exitCode = exit.code == exitBadArguments ? exitBadArguments : exitFailed;
    failed.reason = reason;
    m_link->say(failed);
}

/// Whether what another node tells is nearer to the cause than what is known here. A rank that has lost a peer fails after it,
/// however early that is seen; a death by a signal goes before a mere failure of the same moment.
bool Session::isCause(const NodeMessage &failed) const {
    const auto own = m_supervisor ? m_supervisor->failure() : std::nullopt;
    const std::int64_t now = m_clock.monoNs();
    if (own && !(own->peerLost && !failed.peerLost) &&
        !(failed.signal && !own->bySignal && now - own->monoNs < sameMomentNs))
        return false;
    return !m_nodeFailure || (m_nodeFailure->peerLost && !failed.peerLost) ||
           (failed.signal && !m_nodeFailure->signal && now - m_nodeFailureNs < sameMomentNs);
}

void Session::takeFailure(int, const NodeMessage &failed) {
    if (isCause(failed)) {
        m_nodeFailure = failed;
        m_nodeFailureNs = m_clock.monoNs();
    }
    if (!m_supervisor)
        return concludeUnbegun(RunState::Failed, failed.exitCode.value_or(exitFailed), failed.reason);
    m_supervisor->endWithOthers(failed.reason);
    m_hub->abort(failed.reason);
}

/// The ranks here are gone, and may be started again with those of all nodes.
void Session::onGone() {
    if (m_hub) {
        if (m_supervisor->outcome() == RunState::Stopped) // by itself: so do all
            m_hub->stop("a rank of " + m_host);
        m_loop.cancel(m_nodesTimer);
        m_nodesTimer = m_loop.every(lookInterval, [this] { lookAtRestart(); });
        return lookAtRestart();
    }
    m_journal->requestSync();
    NodeMessage gone;
    gone.what = What::Gone;
    gone.number = m_start;
    gone.nextSeq = m_journal->nextSeq();
    m_link->say(gone);
}

/// Once the ranks of all nodes are gone, or of those that are left: again, or the end.
void Session::lookAtRestart() {
    if (!m_supervisor || m_supervisor->state() != Supervisor::State::Gone)
        return;
    const auto own = m_supervisor->failure();
    const bool failed = own || m_nodeFailure;
    const bool all = m_hub->allGone();
    if (!all && !m_hub->onlyLostFor(patienceClosed, failed ? patienceFailed : m_plan.nodes.lease))
        return;
    const std::string reason = m_nodeFailure ? m_nodeFailure->reason : m_supervisor->reason();
    const int code = m_nodeFailure ? m_nodeFailure->exitCode.value_or(exitFailed) : m_supervisor->exitCode();
    if (all && failed && code == exitFailed && !m_stopAsked)
        return restart(reason);
    m_loop.cancel(m_nodesTimer);
    m_hub->settle();
    m_supervisor->settle();
}

void Session::restart(const std::string &reason) {
    ++m_start;
    alert("warning", "restart",
          "all ranks of all nodes are started again, " + std::to_string(m_start) + " of " +
              std::to_string(m_plan.maxRestarts) + " times, since " + reason);
    m_loop.cancel(m_nodesTimer);
    m_nodeFailure.reset();
    m_exits.clear(); // result.json tells how those ended that were started last; the logs tell all
    if (auto begun = m_supervisor->again(m_start); !begun) {
        alert("error", "start_failed", begun.error().message());
        m_hub->settle();
        return m_supervisor->settle();
    }
    tellGo();
}

} // namespace lockstep::agent
