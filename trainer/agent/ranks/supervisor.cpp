// SPDX-License-Identifier: MIT
#include "trainer/agent/ranks/supervisor.h"

#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "ipc/logging.h"
#include "ipc/nonfinite_stop.h"
#include "trainer/agent/net/version.h"

namespace lockstep::agent {

namespace {
/// Deaths within this time may be noticed in any order: then a death by a signal is the cause.
constexpr std::int64_t sameNodeMomentNs = 200'000'000;
} // namespace

Supervisor::Supervisor(Parts parts, Handlers handlers) : m_parts(std::move(parts)), m_handlers(std::move(handlers)) {
    for (const RankPlan &rank : m_parts.plan.ranks)
        m_ranks.emplace_back(rank, m_parts.loop, m_parts.keeper, m_parts.journal.disk());
}

Supervisor::~Supervisor() {
    m_parts.loop.cancel(m_killTimer);
    m_parts.loop.cancel(m_termTimer);
}

Result<void> Supervisor::start() {
    m_startNs = m_parts.clock.monoNs();
    auto spawned = spawnAll();
    if (!spawned) {
        killWhatLives();
        return spawned;
    }
    m_state = State::Running;
    return {};
}

void Supervisor::killWhatLives() {
    for (Rank &rank : m_ranks)
        if (rank.lives())
            rank.killAndReap();
}

Result<int> Supervisor::prepareMaster(Rank::Environment &environment) {
    const MasterPlan &plan = m_parts.plan.master;
    int listener = -1;
    if (plan.bindHere) {
        auto bound = bindMasterPort(plan.address, plan.port);
        if (!bound)
            return fail(bound.error());
        m_master = std::move(*bound);
        if (plan.passListener)
            listener = m_master.listener.get();
        else
            m_master.listener.close(); // the script binds the port itself a moment later
    } else {
        m_master.address = plan.address;
        m_master.port = plan.port;
    }
    if (!m_parts.plan.adoptsRanks) {
        environment.emplace_back("MASTER_ADDR", m_master.address);
        environment.emplace_back("MASTER_PORT", std::to_string(m_master.port));
    }
    return listener;
}

Result<void> Supervisor::spawnAll() {
    Rank::Environment environment = {
        {"LOCKSTEP_FRAMES", "unix:" + m_parts.socket.path()},
        {"LOCKSTEP_RUN", m_parts.plan.record.run},
        {"LOCKSTEP_VERSION", agentVersion()},
        {"LOCKSTEP_TRACES", m_parts.folder.traces()},
        {"TORCHELASTIC_RESTART_COUNT", std::to_string(m_restarts)},
        {"TORCHELASTIC_MAX_RESTARTS", std::to_string(m_parts.plan.maxRestarts)},
    };
    if (!environmentValue("LOCKSTEP_HOME").empty()) // it may be relative to this folder, and a rank may leave it
        environment.emplace_back("LOCKSTEP_HOME", dataHome());
    // Number GPUs in the driver's order, as Lockstep does. CUDA's default guesses which one is fastest.
    if (!::getenv("CUDA_DEVICE_ORDER"))
        environment.emplace_back("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    const auto listener = prepareMaster(environment);
    if (!listener)
        return fail(listener.error());
    const Rank::Handlers handlers = rankHandlers();
    for (Rank &rank : m_ranks)
        if (auto spawned = rank.spawn(environment, rank.number() == 0 ? *listener : -1,
                                      m_parts.folder.console(rank.number()), handlers);
            !spawned)
            return spawned;
    m_master.listener.close(); // only rank 0 keeps it, so that its peers notice when rank 0 dies
    return {};
}

SupervisedRank::Handlers Supervisor::rankHandlers() {
    return {[this] { collectExits(); },
            [this](int rank, ConsoleTap::Stream stream, std::string_view line) {
                LogFrame body{stream == ConsoleTap::Stream::Err ? "warning" : "info", std::string(line), "console"};
                m_parts.journal.append(std::move(body), rank);
            },
            m_handlers.onConsoleLine};
}

void Supervisor::collectExits() {
    // All that have ended so far, those killed by a signal first: the ranks that fail because of them follow.
    std::vector<Rank *> ended;
    for (Rank &rank : m_ranks)
        if (rank.reap())
            ended.push_back(&rank);
    if (ended.empty())
        return;
    std::stable_sort(ended.begin(), ended.end(), [](const Rank *a, const Rank *b) {
        return a->exit()->signal.has_value() > b->exit()->signal.has_value();
    });
    m_parts.socket.drainRanks(); // so that their last frames precede their exits in the log
    for (Rank *rank : ended) {
        rank->console()->finish();
        reportExit(*rank);
        considerFailure(*rank);
    }
    m_parts.journal.requestSync();
    if (allEnded())
        allGone();
}

bool Supervisor::allEnded() const {
    return std::all_of(m_ranks.begin(), m_ranks.end(), [](const Rank &rank) { return rank.exit().has_value(); });
}

/// The one process is torchrun, say: what it ends with says nothing of rank 0, and its ranks' own ends are not seen here.
bool Supervisor::startsRanksItself() const {
    return m_parts.plan.adoptsRanks && m_parts.plan.record.processes > 1;
}

std::string Supervisor::nameOf(const Rank &rank) const {
    return (startsRanksItself() ? "the command" : "rank " + std::to_string(rank.number())) + " on " + m_parts.host;
}

/// Whether it has refused its arguments, as lockstep-trainer does by a code that means anything in a script.
bool Supervisor::hasRefused(const Rank &rank) const {
    return rank.exit()->code == exitBadArguments && (m_parts.plan.attended || !isScript(m_parts.plan.record));
}

void Supervisor::reportExit(const Rank &rank) {
    const ProcessExit &exit = *rank.exit();
    ExitFrame body;
    body.pid = rank.pid();
    body.host = m_parts.host;
    body.code = exit.code;
    body.signal = exit.signal;
    if (exit.signal)
        body.signalName = signalName(*exit.signal);
    body.reason = rank.sentence(nameOf(rank));
    if (const std::string words = rank.lastWords(); !words.empty())
        body.reason += ": " + words;
    if (rank.killedByUs() && exit.signal) // else only what it had started
        body.reason +=
            m_stopAsked ? " by the agent, since it did not stop" : " by the agent, since another rank had failed";
    m_parts.journal.append(std::move(body), rank.number());
}

/// A rank that lost a peer failed because of that peer, even if it was seen first.
bool Supervisor::isBetterCause(const Rank &rank) const {
    if (!m_cause)
        return true;
    if (rank.exit()->signal)
        return m_cause->exit()->code && m_parts.clock.monoNs() - m_causeNs < sameNodeMomentNs;
    return m_cause->lostAPeer() && !rank.lostAPeer() && !rank.stoppedByItself();
}

void Supervisor::considerFailure(const Rank &rank) {
    const ProcessExit &exit = *rank.exit();
    const bool ours = rank.killedByUs() || rank.endedAsAsked();
    if (exit.good() || ours || m_stopAsked || !isBetterCause(rank))
        return;
    if ((rank.askedToEnd() || m_abandoned) && !exit.signal && !rank.failedByItself())
        return; // the rank failed because it was asked to end, or another node reports the cause
    const bool first = !m_cause && !m_abandoned;
    m_cause = &rank;
    m_causeNs = m_parts.clock.monoNs();
    const std::string words = rank.lastWords();
    if (hasRefused(rank) && !words.empty())
        m_reason = words; // the rank's own message says it best
    else
        m_reason = rank.sentence(nameOf(rank)) + (words.empty() ? "" : ": " + words);
    if (!rank.stoppedByItself())
        alert(exit.signal ? AlertName("rank_died") : AlertName("rank_failed"), m_reason,
              startsRanksItself() ? std::nullopt : std::optional(rank.number()));
    if (m_handlers.onFailure)
        m_handlers.onFailure(rank.number(), exit, m_reason);
    if (first)
        endOthers(rank.stoppedByItself() ? graceAfterStop : graceAfterFailure);
}

void Supervisor::endOthers(std::chrono::milliseconds grace) {
    m_state = State::Ending;
    for (Rank &rank : m_ranks)
        if (rank.lives()) {
            rank.askToEnd(m_parts.clock.monoNs());
            rank.signal(SIGTERM);
        }
    m_killTimer = m_parts.loop.after(grace, [this] { killAll(); });
}

void Supervisor::killAll() {
    std::string who;
    for (Rank &rank : m_ranks)
        if (rank.lives()) {
            rank.kill();
            who += (who.empty() ? "" : ", ") + std::to_string(rank.number());
        }
    if (who.empty())
        return;
    const bool several = who.find(',') != std::string::npos;
    alert("stopped_by_kill", std::string(several ? "ranks " : "rank ") + who + (several ? " were" : " was") +
                                 " still running after the grace period and " + (several ? "were" : "was") + " killed");
}

void Supervisor::stop(const std::string &by) {
    if (m_state == State::Idle || m_state == State::Over)
        return;
    if (m_stopAsked && m_parts.clock.monoNs() - m_stopNs < sameStopNs)
        return;
    if (m_stopAsked) {
        m_parts.journal.note("info", "stop asked again by " + by + ": the ranks are killed");
        return killAll();
    }
    m_parts.journal.sayOnConsole(LogLevel::Info, "stop asked by " + by);
    m_parts.journal.note("info", "stop asked by " + by);
    m_noRestart = true;
    if (m_state == State::Ending)
        return; // the run has failed already, and its ranks end within seconds
    const bool failedBefore = m_cause || m_abandoned;
    if (m_state == State::Gone && failedBefore)
        return finish();
    m_stopAsked = true;
    m_stopNs = m_parts.clock.monoNs();
    m_stopBy = by;
    if (m_state == State::Gone) // between two starts
        return finish();
    askRanksToStop(by);
}

void Supervisor::askRanksToStop(const std::string &by) {
    m_state = State::Ending;
    const std::set<int> reached = m_parts.socket.sendControl(Control{"stop", by});
    for (Rank &rank : m_ranks)
        if (rank.lives()) {
            rank.askToEnd(m_stopNs);
            if (!reached.contains(rank.number()))
                rank.signal(SIGTERM);
        }
    m_termTimer = m_parts.loop.after(termAfterStop, [this] { // for ranks that do not read control lines
        for (Rank &rank : m_ranks)
            if (rank.lives())
                rank.signal(SIGTERM);
    });
    m_killTimer = m_parts.loop.after(graceAfterStop, [this] { killAll(); });
    m_parts.journal.requestSync();
}

void Supervisor::abandon(AlertName why, const std::string &reason) {
    if (m_state != State::Running && m_state != State::Gone)
        return;
    m_abandoned = true;
    m_reason = reason;
    alert(why, reason);
    if (m_state == State::Gone)
        return finish();
    endOthers(graceAfterFailure);
}

void Supervisor::endWithOthers(const std::string &reason) {
    if (m_state != State::Running)
        return;
    m_abandoned = true;
    m_reason = reason;
    m_parts.journal.note("info", "the ranks here end with the others: " + reason);
    endOthers(graceAfterFailure);
}

std::optional<Supervisor::Failure> Supervisor::failure() const {
    if (!m_cause)
        return std::nullopt;
    return Failure{m_causeNs, m_cause->exit()->signal.has_value(), m_cause->lostAPeer(),
                   hasRefused(*m_cause) ? exitBadArguments : exitFailed};
}

void Supervisor::allGone() {
    m_parts.loop.cancel(m_killTimer);
    m_parts.loop.cancel(m_termTimer);
    if (m_parts.plan.nodes.count > 1) {
        if (m_noRestart || m_restarts >= m_parts.plan.maxRestarts)
            return finish();
        m_state = State::Gone;
        return m_handlers.onGone();
    }
    const bool again = m_cause && !m_noRestart && m_restarts < m_parts.plan.maxRestarts && !hasRefused(*m_cause) &&
                       !stoppedByItself() && !isNonfiniteStop(m_reason);
    if (!again)
        return finish();
    ++m_restarts;
    alert(ranksRestarted, "all ranks are started again, " + std::to_string(m_restarts) + " of " +
                              std::to_string(m_parts.plan.maxRestarts) + " times, since " + m_reason);
    m_cause = nullptr;
    m_reason.clear();
    m_handlers.onRestart();
    if (const auto spawned = spawnAll(); !spawned) {
        m_reason = spawned.error().message();
        for (Rank &rank : m_ranks)
            if (rank.lives())
                rank.kill();
        if (allEnded())
            finish();
        return;
    }
    m_state = State::Running;
}

Result<void> Supervisor::again(int number) {
    m_restarts = number;
    m_cause = nullptr;
    m_reason.clear();
    m_abandoned = false;
    m_handlers.onRestart();
    if (auto spawned = spawnAll(); !spawned) {
        killWhatLives();
        m_reason = spawned.error().message();
        return spawned;
    }
    m_state = State::Running;
    return {};
}

void Supervisor::settle() {
    if (m_state == State::Gone)
        finish();
}

bool Supervisor::stoppedByItself() const {
    return m_cause && m_cause->stoppedByItself();
}

void Supervisor::finish() {
    m_state = State::Over;
    m_endNs = m_parts.clock.monoNs();
    if (m_stopAsked)
        m_reason = "stopped by " + m_stopBy;
    m_handlers.onOver();
}

RunState Supervisor::outcome() const {
    if (m_stopAsked || stoppedByItself())
        return RunState::Stopped;
    return m_cause || !m_reason.empty() ? RunState::Failed : RunState::Done;
}

int Supervisor::exitCode() const {
    switch (outcome()) {
    case RunState::Done:
        return 0;
    case RunState::Stopped:
        return exitStopped;
    default:
        return m_cause && hasRefused(*m_cause) ? exitBadArguments : exitFailed;
    }
}

int Supervisor::commandCode() const {
    if (outcome() != RunState::Failed || !m_cause)
        return exitCode();
    const ProcessExit &exit = *m_cause->exit();
    return exit.signal ? 128 + *exit.signal : exit.code.value_or(exitFailed);
}

std::vector<RankExit> Supervisor::exits() const {
    std::vector<RankExit> exits;
    for (const Rank &rank : m_ranks)
        if (rank.exit())
            exits.push_back(rank.result(m_parts.host));
    return exits;
}

double Supervisor::runTimeS(std::int64_t untilNs) const {
    return static_cast<double>(untilNs - m_startNs) * 1e-9;
}

std::vector<Sampler::Watched> Supervisor::livingRanks() const {
    std::vector<Sampler::Watched> living;
    for (const Rank &rank : m_ranks)
        if (rank.lives())
            living.push_back({rank.number(), rank.pid()});
    return living;
}

ConsoleTap *Supervisor::console(int number) {
    for (Rank &rank : m_ranks)
        if (rank.number() == number)
            return rank.console();
    return nullptr;
}

void Supervisor::alert(AlertName name, std::string message, std::optional<int> rank) {
    alertAndLog(m_parts.journal, name, std::move(message), rank);
    m_parts.journal.requestSync();
}

} // namespace lockstep::agent
