#include "trainer/agent/session.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "ipc/socket_folder.h"
#include "trainer/agent/machine.h"

namespace lockstep::agent {

namespace {
constexpr std::chrono::milliseconds sampleInterval{200}, quietLimit{5000};
constexpr int diskCheckSeconds = 10, resultTriesLimit = 600;
constexpr double diskLowShare = 0.05;
/// A forced sample closer to the last one than this would measure nothing but the clock's ticks.
constexpr std::int64_t shortestSampleNs = 40'000'000;

sigset_t sessionSignals() {
    sigset_t signals = endingSignals();
    sigaddset(&signals, SIGCHLD);
    return signals;
}

std::set<int> ranksOf(const LaunchPlan &plan) {
    std::set<int> ranks;
    for (const RankPlan &rank : plan.ranks)
        ranks.insert(rank.rank);
    return ranks;
}
} // namespace

void blockSessionSignals() {
    const sigset_t signals = sessionSignals();
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
}

Session::Session(LaunchPlan plan, GroupKeeper keeper, NewRunFolder folder)
    : m_plan(std::move(plan)), m_keeper(std::move(keeper)), m_folder(std::move(folder)), m_host(hostName()) {}

Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::start(LaunchPlan plan, GroupKeeper keeper, std::unique_ptr<Nvml> nvml,
                                                OnConsoleLine onConsoleLine) {
    auto folder = NewRunFolder::create(plan.record, plan.nodes.node);
    if (!folder)
        return fail(folder.error());
    std::unique_ptr<Session> session(new Session(std::move(plan), std::move(keeper), std::move(*folder)));
    if (auto opened = session->open(std::move(nvml), std::move(onConsoleLine)); !opened) {
        session->m_folder.discard();
        return fail(opened.error());
    }
    return session;
}

Result<void> Session::open(std::unique_ptr<Nvml> nvml, OnConsoleLine onConsoleLine) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1); // what a rank's child leaves behind is ours to end
    auto journal = RunJournal::open(realFileSystem(), m_clock, folder().log(node()), node(), runId(), m_host);
    if (!journal)
        return fail(journal.error());
    m_journal = std::move(*journal);
    const auto hold = holdSocketFolder();
    if (!hold)
        return fail(hold.error());
    const auto path = runSocketPath(runId(), node());
    if (!path)
        return fail(path.error());
    auto socket = RunSocket::bind(m_loop, *m_journal, *path, runId(), node());
    if (!socket)
        return fail(socket.error());
    m_socket = std::move(*socket);

    if (m_plan.record.config && !isScript(m_plan.record) &&
        !m_plan.attended) // the trainer's own report, into the run's folder
        for (RankPlan &rank : m_plan.ranks)
            if (std::none_of(rank.command.begin(), rank.command.end(),
                             [](const std::string &argument) { return argument.starts_with("--summary"); }))
                rank.command.push_back("--summary=" + folder().summary());
    m_sampler = std::make_unique<Sampler>(m_clock, m_plan.devices, std::move(nvml));
    m_onConsoleLine = std::move(onConsoleLine);
    openSocketHandlers();
    say(RunState::Init, m_plan.record.name);
    if (!m_plan.python.empty())
        m_journal->append(LogFrame{"info", "the script runs with " + m_plan.python, "agent"});
    if (!m_plan.nodes.interfacesFound.empty())
        m_journal->append(LogFrame{"info", m_plan.nodes.interfacesFound, "agent"});
    const bool several = m_plan.nodes.count > 1;
    auto ready = !several ? begin() : node() == 0 ? openHub() : joinRun();
    if (!ready)
        return ready;
    if (m_signalToken == 0)
        watchSignals();
    startTimers();
    return {};
}

Result<void> Session::begin() {
    m_socket->setRanks(ranksOf(m_plan));
    makeSupervisor();
    return m_supervisor->start();
}

void Session::makeSupervisor() {
    m_intake = std::make_unique<FrameIntake>(
        m_clock, *m_journal, folder(), ranksOf(m_plan),
        FrameIntake::Handlers{[this](std::int64_t fromNs, std::int64_t toNs) {
                                  if (m_clock.monoNs() - m_sampler->lastSampleNs() > shortestSampleNs)
                                      sampleDevices(); // up to the epoch's end
                                  return m_sampler->over(fromNs, toNs);
                              },
                              [this](int rank, std::string_view text) {
                                  if (ConsoleTap *console = m_supervisor->console(rank))
                                      console->appendText(text);
                              },
                              [this] { say(RunState::Training, ""); },
                              !m_plan.record.config || isScript(m_plan.record) || m_plan.attended});
    Supervisor::Handlers handlers;
    handlers.onConsoleLine = m_onConsoleLine;
    handlers.onFailure = [this](int rank, const ProcessExit &exit, const std::string &reason) {
        tellFailure(rank, exit, reason);
    };
    handlers.onRestart = [this] { m_intake->startOver(); };
    handlers.onOver = [this] { onOver(); };
    handlers.onGone = [this] { onGone(); };
    m_supervisor = std::make_unique<Supervisor>(
        Supervisor::Parts{m_loop, m_clock, m_plan, folder(), *m_journal, *m_socket, m_keeper, m_host},
        std::move(handlers));
}

void Session::openSocketHandlers() {
    RunSocket::Handlers handlers;
    handlers.onRankConnected = [](int) {};
    handlers.onRankLine = [this](int rank, std::string_view line) { m_intake->takeLine(rank, line); };
    handlers.onRankCut = [this](int rank, const Error &why) { m_intake->onRankCut(rank, why); };
    handlers.onRefused = [this](const std::string &message) { alert("warning", "connection_refused", message); };
    handlers.onControl = [this](const Control &control) { takeControl(control); };
    m_socket->open(std::move(handlers), {});
}

void Session::takeControl(const Control &control) {
    if (control.command == "stop")
        stop(control.by.empty() ? "a viewer" : control.by);
    else if (control.command == "trace")
        askForTrace(control);
    else
        m_journal->append(LogFrame{"warning", "unknown command '" + control.command + "' ignored", "agent"});
}

void Session::stop(const std::string &by) {
    if (m_over && (!m_hub || m_settled))
        return;
    if (m_over && m_stopAsked) { // only lost nodes are waited for, and whoever asks twice does not want that
        adoptNodesOutcome();
        return settle();
    }
    if (m_link && m_link->up()) { // the run's authority is agent 0: it stops all nodes, this one too
        NodeMessage message;
        message.what = NodeMessage::What::Stop;
        message.by = by;
        return m_link->say(message);
    }
    if (m_hub)
        m_hub->stop(by);
    m_stopAsked = true;
    if (m_supervisor)
        m_supervisor->stop(by);
    else
        concludeUnbegun(RunState::Stopped, 130, "stopped by " + by);
}

void Session::askForTrace(const Control &control) {
    const std::string what = "a trace of " + std::to_string(control.steps.value_or(0)) + " steps, asked by " +
                             (control.by.empty() ? "a viewer" : control.by);
    if (control.steps.value_or(0) < 1)
        return m_journal->append(LogFrame{"warning", what + ", is refused: it wants 1 step or more", "agent"});
    if (m_hub)
        m_hub->trace(control);
    const auto reached = m_socket->sendControl(control);
    m_journal->append(LogFrame{"info", what + ": " + std::to_string(reached.size()) + " ranks record it", "agent"});
}

void Session::watchSignals() {
    const sigset_t signals = sessionSignals();
    m_signals = Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    m_signalToken = m_loop.watch(m_signals.get(), EPOLLIN, [this](std::uint32_t) { onSignals(); });
}

void Session::onSignals() {
    signalfd_siginfo info{};
    while (::read(m_signals.get(), &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            reapStrays();
        else if (!m_over)
            stop(signalName(static_cast<int>(info.ssi_signo)));
        else if (m_nodesTimer != 0 && !m_settled)
            settle();
        else if (m_resultTimer != 0)
            m_resultTries = resultTriesLimit; // whoever wants us gone knows of the disk
    }
}

void Session::startTimers() {
    m_sampleTimer = m_loop.every(sampleInterval, [this] { sampleDevices(); });
    m_secondTimer = m_loop.every(oneSecond, [this] { everySecond(); });
    // A script that reports no frames is simply running.
    m_quietTimer = m_loop.after(quietLimit, [this] {
        const bool quiet = std::none_of(m_plan.ranks.begin(), m_plan.ranks.end(),
                                        [this](const RankPlan &rank) { return m_socket->everConnected(rank.rank); });
        if (quiet && m_supervisor)
            say(RunState::Training, "the ranks report no frames");
    });
    m_loop.afterBatch([this] {
        m_socket->pump();
        if (m_link)
            m_link->pump();
    });
}

void Session::sampleDevices() {
    std::vector<Sampler::Watched> viewers;
    for (const pid_t pid : m_socket->viewers())
        viewers.push_back({std::nullopt, pid});
    Frame sample =
        m_sampler->sample(m_supervisor ? m_supervisor->livingRanks() : std::vector<Sampler::Watched>{}, viewers);
    m_watching.take(std::get<DeviceFrame>(sample.body), m_socket->queueOwners());
    m_surroundings.take(std::get<DeviceFrame>(sample.body), m_socket->queueOwners());
    m_journal->append(std::move(sample));
}

void Session::everySecond() {
    m_journal->append(HeartbeatFrame{});
    m_journal->requestSync();
    mergeTraces();
    watchFolder();
    m_socket->rebindIfLost();
    reapStrays();
    if (m_seconds++ % diskCheckSeconds == 0 || m_logBehind)
        watchDisk();
    if (m_journal->behind() != m_logBehind) {
        m_logBehind = m_journal->behind();
        alert(m_logBehind ? "error" : "warning", m_logBehind ? "log_behind" : "log_caught_up",
              m_logBehind
                  ? "the log " + folder().log(0) + " can't be written; training goes on and its lines wait in memory"
                  : "the log " + folder().log(0) + " is whole again");
    }
    if (m_journal->linesLost() != m_lostSaid) {
        m_lostSaid = m_journal->linesLost();
        alert("error", "log_lost", std::to_string(m_lostSaid) + " lines of the log are lost: memory for them was full");
    }
}

/// A run without its folder can't be told to anyone who comes later: it would only hold the devices.
void Session::watchFolder() {
    if (m_folder.gone() && m_supervisor)
        m_supervisor->abandon("run_folder_removed", "the run's folder " + folder().path + " was removed while it ran");
}

void Session::watchDisk() {
    struct statvfs info {};
    if (::statvfs(folder().path.c_str(), &info) != 0 || info.f_blocks == 0)
        return;
    const double share = static_cast<double>(info.f_bavail) / static_cast<double>(info.f_blocks);
    const bool low = share < diskLowShare;
    if (low && !m_diskLow)
        alert("warning", "disk_low",
              "the disk under " + folder().path + " has " + std::to_string(static_cast<int>(share * 100)) + " % left");
    m_diskLow = low;
}

void Session::reapStrays() {
    // Ranks are waited for by their pidfd; only what they left behind is reaped here.
    if (!m_supervisor)
        return;
    const auto living = m_supervisor->livingRanks();
    for (;;) {
        siginfo_t info{};
        if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
            return;
        if (std::any_of(living.begin(), living.end(), [&](const auto &rank) { return rank.pid == info.si_pid; }))
            return; // its pidfd event is on the way
        ::waitpid(info.si_pid, nullptr, 0);
    }
}

void Session::say(RunState state, std::string detail) {
    if (state == RunState::Training && std::exchange(m_saidTraining, true))
        return;
    StateFrame body;
    body.state = state;
    body.detail = std::move(detail);
    m_journal->append(std::move(body));
    m_journal->requestSync();
}

void Session::alert(std::string severity, std::string kind, std::string message) {
    (severity == "error" ? logError : logWarning)(message);
    AlertFrame body;
    body.severity = std::move(severity);
    body.kind = std::move(kind);
    body.message = std::move(message);
    m_journal->append(std::move(body));
}

void Session::endTimers() {
    for (EventLoop::Token *timer :
         {&m_sampleTimer, &m_secondTimer, &m_quietTimer, &m_joinTimer, &m_nodesTimer, &m_sightTimer})
        m_loop.cancel(*timer);
}

void Session::onOver() {
    m_over = true;
    mergeTraces();
    endTimers();
    for (const pid_t child : childrenOf(::getpid())) // what left its group and outlived its rank
        if (child != m_keeper.pid())
            ::kill(child, SIGKILL);
    m_ending = {m_supervisor->exitCode(), m_supervisor->commandCode(), m_supervisor->reason()};
    m_outcome = m_supervisor->outcome();
    m_runTimeS = m_supervisor->runTimeS();
    for (const RankExit &exit : m_supervisor->exits())
        m_exits.push_back(exit);
    m_endWallUs = m_clock.wallUs();
    if (m_hub)
        return waitForNodes();
    if (m_link)
        return tellOver();
    settle();
}

void Session::settle() {
    if (std::exchange(m_settled, true))
        return;
    endTimers();
    mergeTraces();
    if (!m_link) // another node's has been said when its ranks were gone
        say(m_outcome, m_ending.reason);
    conclude();
}

/// Without a result a reader would take the run for one whose agent died: a full disk is waited for.
void Session::conclude() {
    m_loop.cancel(m_resultTimer);
    m_journal->finish();
    const bool gone = m_folder.gone(); // then no result is put in its place
    const auto written =
        gone ? Result<void>(fail(Error::failed(folder().path + " was removed while the run went on"))) : writeResult();
    if (!written && !gone && m_resultTries++ < resultTriesLimit) {
        if (m_resultTries == 1)
            alert("error", "result_unwritten",
                  "the result can't be written: " + written.error().message() + "; tried again for ten minutes");
        m_resultTimer = m_loop.after(oneSecond, [this] { conclude(); });
        return;
    }
    if (!written)
        logError("the result could not be written: " + written.error().message());
    if (m_hub)
        m_hub->end(m_outcome, m_ending.reason, m_ending.resultCode);
    if (m_link)
        m_link->close();
    m_socket->finish([this] { leave(); });
}

/// The other agents close when they have heard the end; a moment is given to them.
void Session::leave() {
    if (!m_hub)
        return m_loop.quit();
    m_nodesTimer = m_loop.every(std::chrono::milliseconds(20), [this] {
        if (!m_hub->connected() || m_leaveLooks++ > 50)
            m_loop.quit();
    });
}

Result<void> Session::writeResult() {
    if (m_folder.shared())
        return {}; // agent 0's to write
    RunResult result;
    result.run = runId();
    result.state = m_outcome;
    result.exitCode = m_ending.resultCode;
    result.reason = m_ending.reason;
    result.startWallUs = m_plan.record.startWallUs;
    result.endWallUs = m_endWallUs;
    result.runTimeS = m_runTimeS;
    result.ranks = m_exits;
    std::sort(result.ranks.begin(), result.ranks.end(),
              [](const RankExit &a, const RankExit &b) { return a.rank < b.rank; });
    if (const auto text = realFileSystem().readAll(folder().summary()))
        if (auto summary = summaryFromJson(*text))
            result.summary = std::move(*summary);
    if (!result.summary && result.state == RunState::Done && m_intake && m_plan.nodes.count == 1)
        result.summary = m_intake->reported().summary(m_plan.record, result.runTimeS);
    result.watching = m_watching.total();
    result.surroundings = m_surroundings.total();
    result.logLines = m_journal->nextSeq();
    if (m_hub)
        result.nodeLogLines = m_hub->logLines();
    if (m_link) { // the folder here holds this node's log alone
        result.logLines = 0;
        result.nodeLogLines[node()] = m_journal->nextSeq();
    }
    return realFileSystem().writeAtomically(folder().result(), toJson(result));
}

Session::Ending Session::run() {
    logInfo("run " + runId() + " started");
    m_loop.run();
    logInfo("run " + runId() + ": " + std::string(toString(m_outcome)) +
            (m_ending.reason.empty() ? "" : ", " + m_ending.reason));
    return m_ending;
}

} // namespace lockstep::agent
