// SPDX-License-Identifier: MIT
#include "trainer/agent/ranks/supervised_rank.h"

#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace lockstep::agent {

namespace {
constexpr int mostReapTries = 2000; // a process in the kernel, waiting for a disk say, can't be waited for
constexpr useconds_t betweenReapTries = 1000;
constexpr std::chrono::milliseconds untilOthersEnd{20};
constexpr int exitTerminated = 128 + SIGTERM; ///< of a shell, or a handler of one's own
} // namespace

bool saysPeerLost(std::string_view words) {
    for (const char *known : {"onnection closed by peer", "onnection reset by peer", "failed to recv", "failed to send",
                              "recvBytes", "sendBytes", "Broken pipe", "remote process exited", "onnection refused",
                              "onnection was likely closed", "Timed out waiting", "Socket Timeout", "ncclRemoteError"})
        if (words.find(known) != std::string_view::npos)
            return true;
    return false;
}

SupervisedRank::SupervisedRank(const RankPlan &plan, EventLoop &loop, GroupKeeper &keeper, LogDisk &disk)
    : m_plan(plan), m_loop(loop), m_keeper(keeper), m_disk(disk) {}

SupervisedRank::~SupervisedRank() {
    m_loop.unwatch(m_exitToken);
    m_loop.cancel(m_othersTimer);
}

Result<void> SupervisedRank::spawn(const Environment &environment, int listener, const std::string &consolePath,
                                   const Handlers &handlers) {
    RankPlan plan = m_plan;
    plan.environment.insert(plan.environment.end(), environment.begin(), environment.end());
    if (listener >= 0)
        plan.environment.emplace_back("LOCKSTEP_MASTER_LISTEN_FD", std::to_string(listener));
    plan.environment.emplace_back(GroupKeeper::markName, m_keeper.mark());
    auto process = RankProcess::spawn(plan, listener, m_keeper.cgroupEntrance());
    if (!process)
        return fail(process.error());
    m_exit.reset();
    m_killedByUs = m_askedToEnd = false;
    m_process.emplace(std::move(*process));
    m_keeper.add(pid());
    m_onExit = handlers.onExit;
    m_exitToken = m_loop.watch(m_process->pidFd(), EPOLLIN, [onExit = handlers.onExit](std::uint32_t) { onExit(); });
    const auto ofThisRank = [rank = number()](const OnConsoleLine &handler) {
        return [rank, handler](ConsoleTap::Stream stream, std::string_view line) { handler(rank, stream, line); };
    };
    m_console =
        std::make_unique<ConsoleTap>(m_loop, m_disk, consolePath, m_process->takeStdout(), m_process->takeStderr(),
                                     ofThisRank(handlers.onLine), ofThisRank(handlers.onEveryLine));
    return {};
}

bool SupervisedRank::reap() {
    if (!lives() || waitsForOthers() || !(m_exit = m_process->reap()))
        return false;
    m_keeper.remove(pid());
    m_loop.unwatch(m_exitToken);
    m_loop.cancel(m_othersTimer);
    return true;
}

/// Until then the process is not reaped, so that nobody else gets its group's number.
bool SupervisedRank::waitsForOthers() {
    if (!m_askedToEnd || m_killedByUs || !m_process->ended() || !m_process->hasLeftOthers())
        return false;
    if (m_othersTimer == 0) {
        m_process->signalGroup(SIGTERM);
        m_loop.unwatch(m_exitToken); // it would be reported all the time
        m_othersTimer = m_loop.every(untilOthersEnd, [onExit = m_onExit] { onExit(); });
    }
    return true;
}

void SupervisedRank::askToEnd(std::int64_t nowNs) {
    m_console->drain(); // what it has printed before it is asked to end is its own message
    m_askedToEnd = true;
    m_askedNs = nowNs;
}

void SupervisedRank::kill() {
    m_killedByUs = true;
    m_process->killGroup();
}

void SupervisedRank::killAndReap() {
    kill();
    for (int i = 0; i < mostReapTries && !reap(); ++i)
        ::usleep(betweenReapTries);
}

std::string SupervisedRank::sentence(const std::string &who) const {
    if (m_exit->signal)
        return who + " was killed by " + signalName(*m_exit->signal);
    if (m_exit->good())
        return who + " ended";
    if (stoppedByItself())
        return who + " stopped";
    if (!m_exit->code)
        return who + " has ended, and how is not known";
    return who + " exited with code " + std::to_string(*m_exit->code);
}

std::string SupervisedRank::lastWords() const {
    if (m_exit->signal || m_exit->good() || stoppedByItself())
        return {};
    const std::string &error = m_console->lastErrorLine(), &line = m_console->lastLine();
    return !error.empty() || line.empty() ? error : "its last line was " + line;
}

bool SupervisedRank::lostAPeer() const {
    return m_exit->code && saysPeerLost(lastWords());
}

bool SupervisedRank::endedAsAsked() const {
    return m_askedToEnd && (m_exit->signal == SIGTERM || m_exit->code == exitTerminated);
}

bool SupervisedRank::failedByItself() const {
    return m_exit->code && !stoppedByItself() && !m_killedByUs && m_console->lastErrorNs() > 0 &&
           m_console->lastErrorNs() < m_askedNs && !lostAPeer();
}

RankExit SupervisedRank::result(const std::string &host) const {
    return {number(), host, m_exit->code, m_exit->signal, m_exit->signal ? signalName(*m_exit->signal) : ""};
}

} // namespace lockstep::agent
