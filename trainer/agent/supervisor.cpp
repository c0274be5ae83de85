#include "trainer/agent/supervisor.h"

#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "ipc/logging.h"

namespace lockstep::agent {

namespace {
/// Deaths this close together may come in any order: the one by a signal is then the cause, not the one that followed.
constexpr std::int64_t sameNodeMomentNs = 200'000'000;
} // namespace

Supervisor::Supervisor(Parts parts, Handlers handlers) : m_parts(std::move(parts)), m_handlers(std::move(handlers)) {
    m_ranks.resize(m_parts.plan.ranks.size());
    for (std::size_t i = 0; i < m_ranks.size(); ++i)
        m_ranks[i].plan = &m_parts.plan.ranks[i];
}

Supervisor::~Supervisor() {
    m_parts.loop.cancel(m_killTimer);
    m_parts.loop.cancel(m_termTimer);
    for (Rank &rank : m_ranks)
        m_parts.loop.unwatch(rank.exitToken);
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
        if (rank.process && !rank.exit) {
            rank.process->killGroup();
            while (!(rank.exit = rank.process->reap())) // SIGKILL: a moment
                ::usleep(1000);
            m_parts.loop.unwatch(rank.exitToken);
            m_parts.keeper.remove(rank.process->pid());
        }
}

Result<int> Supervisor::prepareMaster(std::vector<std::pair<std::string, std::string>> &environment) {
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
            m_master.listener.close(); // the script binds it itself, in a moment
    } else {
        m_master.address = plan.address;
        m_master.port = plan.port;
    }
    environment.emplace_back("MASTER_ADDR", m_master.address);
    environment.emplace_back("MASTER_PORT", std::to_string(m_master.port));
    return listener;
}

Result<void> Supervisor::spawnAll() {
    std::vector<std::pair<std::string, std::string>> environment = {
        {"LOCKSTEP_FRAMES", "unix:" + m_parts.socket.path()},
        {"LOCKSTEP_RUN", m_parts.plan.record.run},
        {"LOCKSTEP_TRACES", m_parts.folder.traces()},
        {"TORCHELASTIC_RESTART_COUNT", std::to_string(m_restarts)},
    };
    // The driver's order of GPUs, which is ours, instead of CUDA's guess at the fastest first.
    if (!::getenv("CUDA_DEVICE_ORDER"))
        environment.emplace_back("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    const auto listener = prepareMaster(environment);
    if (!listener)
        return fail(listener.error());
    for (Rank &rank : m_ranks)
        if (auto spawned = spawn(rank, environment, rank.plan->rank == 0 ? *listener : -1); !spawned)
            return spawned;
    m_master.listener.close(); // rank 0 has it now; when that dies, its peers must notice
    return {};
}

Result<void> Supervisor::spawn(Rank &rank, const std::vector<std::pair<std::string, std::string>> &environment,
                               int listener) {
    RankPlan plan = *rank.plan;
    plan.environment.insert(plan.environment.end(), environment.begin(), environment.end());
    if (listener >= 0)
        plan.environment.emplace_back("LOCKSTEP_MASTER_LISTEN_FD", std::to_string(listener));
    auto process = RankProcess::spawn(plan, listener);
    if (!process)
        return fail(process.error());
    rank.exit.reset();
    rank.killedByUs = rank.askedToEnd = false;
    rank.process.emplace(std::move(*process));
    m_parts.keeper.add(rank.process->pid());
    rank.exitToken = m_parts.loop.watch(rank.process->pidFd(), EPOLLIN, [this](std::uint32_t) { collectExits(); });
    const int number = plan.rank;
    rank.console = std::make_unique<ConsoleTap>(
        m_parts.loop, m_parts.folder.console(number), rank.process->takeStdout(), rank.process->takeStderr(),
        [this, number](ConsoleTap::Stream stream, std::string_view line) {
            LogFrame body{stream == ConsoleTap::Stream::Err ? "warning" : "info", std::string(line), "console"};
            m_parts.journal.append(std::move(body), number);
        },
        [this, number](ConsoleTap::Stream stream, std::string_view line) {
            m_handlers.onConsoleLine(number, stream, line);
        });
    return {};
}

void Supervisor::collectExits() {
    // All that died by now, those by a signal first: what they drag down with them fails a moment later.
    std::vector<Rank *> gone;
    for (Rank &rank : m_ranks)
        if (rank.process && !rank.exit)
            if ((rank.exit = rank.process->reap())) {
                m_parts.keeper.remove(rank.process->pid());
                m_parts.loop.unwatch(rank.exitToken);
                gone.push_back(&rank);
            }
    if (gone.empty())
        return;
    std::stable_sort(gone.begin(), gone.end(), [](const Rank *a, const Rank *b) {
        return a->exit->signal.has_value() > b->exit->signal.has_value();
    });
    m_parts.socket.drainRanks(); // their last frames come before their end
    for (Rank *rank : gone) {
        rank->console->finish();
        reportExit(*rank);
        considerFailure(*rank);
    }
    m_parts.journal.requestSync();
    if (std::all_of(m_ranks.begin(), m_ranks.end(), [](const Rank &rank) { return rank.exit.has_value(); }))
        allGone();
}

std::string Supervisor::sentenceOf(const Rank &rank) const {
    const std::string who = "rank " + std::to_string(rank.plan->rank) + " on " + m_parts.host;
    if (rank.exit->signal)
        return who + " was killed by " + signalName(*rank.exit->signal);
    if (rank.exit->good())
        return who + " ended";
    if (*rank.exit->code == exitStopped)
        return who + " stopped";
    return who + " exited with code " + std::to_string(*rank.exit->code);
}

/// What the rank itself said last, for failures that are no signal.
std::string Supervisor::detailOf(const Rank &rank) const {
    if (rank.exit->signal || rank.exit->good() || *rank.exit->code == exitStopped)
        return {};
    const std::string &error = rank.console->lastErrorLine();
    return error.empty() ? rank.console->lastLine() : error;
}

void Supervisor::reportExit(Rank &rank) {
    ExitFrame body;
    body.pid = rank.process->pid();
    body.host = m_parts.host;
    body.code = rank.exit->code;
    body.signal = rank.exit->signal;
    if (rank.exit->signal)
        body.signalName = signalName(*rank.exit->signal);
    body.reason = sentenceOf(rank);
    if (const std::string detail = detailOf(rank); !detail.empty())
        body.reason += ": " + detail;
    if (rank.killedByUs)
        body.reason +=
            m_stopAsked ? " by the agent, since it did not stop" : " by the agent, since another rank had failed";
    m_parts.journal.append(std::move(body), rank.plan->rank);
}

/// What has lost a peer fails after it, and may be seen before it.
bool Supervisor::lostAPeer(const Rank &rank) const {
    return rank.exit->code && saysPeerLost(detailOf(rank));
}

/// It had said what is wrong before it was asked to end with the others.
bool Supervisor::failedByItself(const Rank &rank) const {
    return rank.exit->code && *rank.exit->code != exitStopped && !rank.killedByUs && rank.console->lastErrorNs() > 0 &&
           rank.console->lastErrorNs() < rank.askedNs && !lostAPeer(rank);
}

bool Supervisor::isBetterCause(const Rank &rank) const {
    if (!m_cause)
        return true;
    const Rank &cause = m_ranks[*m_cause];
    if (rank.exit->signal)
        return cause.exit->code && m_parts.clock.monoNs() - m_causeNs < sameNodeMomentNs;
    return lostAPeer(cause) && !lostAPeer(rank) && *rank.exit->code != exitStopped;
}

void Supervisor::considerFailure(const Rank &rank) {
    const bool ours = rank.killedByUs || (rank.askedToEnd && rank.exit->signal == SIGTERM);
    if (rank.exit->good() || ours || m_stopAsked || !isBetterCause(rank))
        return;
    if (rank.askedToEnd && !rank.exit->signal && !failedByItself(rank))
        return; // it fails because it was asked to end
    if (m_abandoned && !rank.exit->signal && !failedByItself(rank))
        return; // the others' failure is told by them
    const std::int64_t now = m_parts.clock.monoNs();
    const bool first = !m_cause && !m_abandoned;
    m_cause = static_cast<std::size_t>(&rank - m_ranks.data());
    m_causeNs = now;
    const std::string detail = detailOf(rank);
    if (*m_cause < m_ranks.size() && rank.exit->code == exitBadArguments && !detail.empty())
        m_reason = detail; // the rank's own sentence says it best
    else
        m_reason = sentenceOf(rank) + (detail.empty() ? "" : ": " + detail);
    if (rank.exit->code != exitStopped)
        alert("error", rank.exit->signal ? "rank_died" : "rank_failed", m_reason, rank.plan->rank);
    if (m_handlers.onFailure)
        m_handlers.onFailure(rank.plan->rank, *rank.exit, m_reason);
    if (first)
        endOthers(rank.exit->code == exitStopped ? graceAfterStop : graceAfterFailure);
}

void Supervisor::endOthers(std::chrono::milliseconds grace) {
    m_state = State::Ending;
    for (Rank &rank : m_ranks)
        if (rank.process && !rank.exit) {
            rank.console->drain(); // what it has said by now, it has said by itself
            rank.askedToEnd = true;
            rank.askedNs = m_parts.clock.monoNs();
            rank.process->signal(SIGTERM);
        }
    m_killTimer = m_parts.loop.after(grace, [this] { killAll(); });
}

void Supervisor::killAll() {
    std::string who;
    for (Rank &rank : m_ranks)
        if (rank.process && !rank.exit) {
            rank.killedByUs = true;
            rank.process->killGroup();
            who += (who.empty() ? "" : ", ") + std::to_string(rank.plan->rank);
        }
    if (who.empty())
        return;
    const bool several = who.find(',') != std::string::npos;
    alert("warning", "stopped_by_kill",
          std::string(several ? "ranks " : "rank ") + who + (several ? " were" : " was") +
              " still running after the grace period and " + (several ? "were" : "was") + " killed");
}

void Supervisor::stop(const std::string &by) {
    if (m_state == State::Gone) { // between two starts
        m_stopAsked = true;
        m_stopBy = by;
        return finish();
    }
    if (m_state != State::Running && m_state != State::Ending)
        return;
    if (m_stopAsked && m_parts.clock.monoNs() - m_stopNs < sameStopNs)
        return; // Slurm ends a job by several signals at once, and nobody has thought twice in a second
    if (m_stopAsked) {
        m_parts.journal.append(LogFrame{"info", "stop asked again by " + by + ": the ranks are killed", "agent"});
        return killAll();
    }
    logInfo("stop asked by " + by);
    m_parts.journal.append(LogFrame{"info", "stop asked by " + by, "agent"});
    if (m_state == State::Ending)
        return; // the run fails already; its ranks have seconds to live
    m_stopAsked = true;
    m_stopNs = m_parts.clock.monoNs();
    m_stopBy = by;
    m_state = State::Ending;
    const std::set<int> reached = m_parts.socket.sendControl(Control{"stop", by});
    for (Rank &rank : m_ranks)
        if (rank.process && !rank.exit) {
            rank.askedToEnd = true;
            if (!reached.contains(rank.plan->rank))
                rank.process->signal(SIGTERM);
        }
    m_termTimer = m_parts.loop.after(termAfterStop, [this] { // for those whose frames are read by nobody
        for (Rank &rank : m_ranks)
            if (rank.process && !rank.exit)
                rank.process->signal(SIGTERM);
    });
    m_killTimer = m_parts.loop.after(graceAfterStop, [this] { killAll(); });
    m_parts.journal.requestSync();
}

void Supervisor::abandon(const std::string &kind, const std::string &reason) {
    if (m_state != State::Running && m_state != State::Gone)
        return;
    m_abandoned = true;
    m_reason = reason;
    alert("error", kind, reason);
    if (m_state == State::Gone)
        return finish();
    endOthers(graceAfterFailure);
}

void Supervisor::endWithOthers(const std::string &reason) {
    if (m_state != State::Running)
        return;
    m_abandoned = true;
    m_reason = reason;
    m_parts.journal.append(LogFrame{"info", "the ranks here end with the others: " + reason, "agent"});
    endOthers(graceAfterFailure);
}

bool saysPeerLost(std::string_view words) {
    for (const char *known : {"onnection closed by peer", "onnection reset by peer", "failed to recv", "failed to send",
                              "recvBytes", "sendBytes", "Broken pipe", "remote process exited", "onnection refused",
                              "onnection was likely closed", "Timed out waiting", "Socket Timeout", "ncclRemoteError"})
        if (words.find(known) != std::string_view::npos)
            return true;
    return false;
}

std::optional<Supervisor::Failure> Supervisor::failure() const {
    if (!m_cause)
        return std::nullopt;
    return Failure{m_causeNs, m_ranks[*m_cause].exit->signal.has_value(), lostAPeer(m_ranks[*m_cause])};
}

void Supervisor::allGone() {
    m_parts.loop.cancel(m_killTimer);
    m_parts.loop.cancel(m_termTimer);
    if (m_parts.plan.nodes.count > 1) {
        if (m_stopAsked || m_restarts >= m_parts.plan.maxRestarts)
            return finish();
        m_state = State::Gone;
        return m_handlers.onGone();
    }
    const bool again = m_cause && !m_stopAsked && m_restarts < m_parts.plan.maxRestarts &&
                       m_ranks[*m_cause].exit->code != exitBadArguments && !stoppedByItself();
    if (!again)
        return finish();
    ++m_restarts;
    alert("warning", "restart",
          "all ranks are started again, " + std::to_string(m_restarts) + " of " +
              std::to_string(m_parts.plan.maxRestarts) + " times, since " + m_reason);
    m_cause.reset();
    m_reason.clear();
    m_handlers.onRestart();
    if (const auto spawned = spawnAll(); !spawned) {
        m_reason = spawned.error().message();
        for (Rank &rank : m_ranks)
            if (rank.process && !rank.exit) {
                rank.killedByUs = true;
                rank.process->killGroup();
            }
        if (std::all_of(m_ranks.begin(), m_ranks.end(), [](const Rank &rank) { return rank.exit.has_value(); }))
            finish();
        return;
    }
    m_state = State::Running;
}

Result<void> Supervisor::again(int number) {
    m_restarts = number;
    m_cause.reset();
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
    return m_cause && m_ranks[*m_cause].exit->code == exitStopped;
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
        return m_cause && m_ranks[*m_cause].exit->code == exitBadArguments ? exitBadArguments : exitFailed;
    }
}

int Supervisor::commandCode() const {
    if (outcome() != RunState::Failed || !m_cause)
        return exitCode();
    const ProcessExit &exit = *m_ranks[*m_cause].exit;
    return exit.signal ? 128 + *exit.signal : *exit.code;
}

std::vector<RankExit> Supervisor::exits() const {
    std::vector<RankExit> exits;
    for (const Rank &rank : m_ranks)
        if (rank.exit)
            exits.push_back({rank.plan->rank, m_parts.host, rank.exit->code, rank.exit->signal,
                             rank.exit->signal ? signalName(*rank.exit->signal) : ""});
    return exits;
}

double Supervisor::runTimeS() const {
    return static_cast<double>(m_endNs - m_startNs) * 1e-9;
}

std::vector<Sampler::Watched> Supervisor::livingRanks() const {
    std::vector<Sampler::Watched> living;
    for (const Rank &rank : m_ranks)
        if (rank.process && !rank.exit)
            living.push_back({rank.plan->rank, rank.process->pid()});
    return living;
}

ConsoleTap *Supervisor::console(int number) {
    for (Rank &rank : m_ranks)
        if (rank.plan->rank == number)
            return rank.console.get();
    return nullptr;
}

void Supervisor::alert(std::string severity, std::string kind, std::string message, std::optional<int> rank) {
    (severity == "error" ? logError : logWarning)(message);
    AlertFrame body;
    body.severity = std::move(severity);
    body.kind = std::move(kind);
    body.message = std::move(message);
    m_parts.journal.append(std::move(body), rank);
    m_parts.journal.requestSync();
}

} // namespace lockstep::agent
