// SPDX-License-Identifier: MIT
#include "trainer/agent/ranks/rank_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>

#include "trainer/agent/devices/proc_files.h"

extern "C" { // glibc 2.36's header lacks this
#include <sys/pidfd.h>
}

extern char **environ;

namespace lockstep::agent {

namespace {

enum class Stage : int { ParentGone, Affinity, Exec };
struct Failure {
    Stage stage;
    int error;
};

struct Pipe {
    Fd readEnd, writeEnd;
};

Result<Pipe> makePipe(bool nonBlockingRead) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return fail(Error::system("a pipe can't be made", errno, "raise the limit of open files (ulimit -n)"));
    Pipe pipe{Fd(ends[0]), Fd(ends[1])};
    if (nonBlockingRead)
        ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return pipe;
}

/// The agent's environment with the plan's changes, as "NAME=VALUE".
std::vector<std::string> environmentOf(const RankPlan &plan) {
    // An outer launcher's variables must not reach our ranks.
    std::set<std::string> replaced = {"TORCHELASTIC_USE_AGENT_STORE", "LOCKSTEP_MASTER_LISTEN_FD"};
    std::vector<std::string> environment;
    for (const auto &[name, value] : plan.environment) {
        replaced.insert(name);
        environment.push_back(name + "=" + value);
    }
    for (char **entry = environ; *entry; ++entry) {
        const std::string text = *entry;
        if (!replaced.contains(text.substr(0, text.find('='))))
            environment.push_back(text);
    }
    return environment;
}

std::vector<char *> pointersTo(std::vector<std::string> &strings) {
    std::vector<char *> pointers;
    for (std::string &text : strings)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

/// Everything that the child needs, made before the fork: between fork and exec only async-signal-safe calls are
/// allowed.
struct ChildSetup {
    pid_t agent;
    char *const *arguments;
    char *const *environment;
    const cpu_set_t *affinity; ///< null: unchanged
    int out, err, listener, failure;
    int cgroup; ///< its cgroup.procs; -1: none
};

[[noreturn]] void giveUp(const ChildSetup &setup, Stage stage) {
    const Failure failure{stage, errno};
    (void)!::write(setup.failure, &failure, sizeof failure);
    ::_exit(127);
}

[[noreturn]] void becomeRank(const ChildSetup &setup) {
    ::setpgid(0, 0);
    if (setup.cgroup >= 0)
        (void)!::write(setup.cgroup, "0", 1);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != setup.agent) // the agent died before prctl took effect
        giveUp(setup, Stage::ParentGone);
    if (setup.affinity && ::sched_setaffinity(0, sizeof *setup.affinity, setup.affinity) != 0)
        giveUp(setup, Stage::Affinity);
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(null, 0);
    ::dup2(setup.out, 1);
    ::dup2(setup.err, 2);
    ::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    if (setup.listener >= 0)
        ::fcntl(setup.listener, F_SETFD, 0);
    for (const int number : {SIGPIPE, SIGHUP, SIGINT, SIGTERM, SIGCHLD, SIGXFSZ})
        ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(setup.arguments[0], setup.arguments, setup.environment);
    giveUp(setup, Stage::Exec);
}

Error errorOf(const Failure &failure, const RankPlan &plan) {
    switch (failure.stage) {
    case Stage::Affinity:
        return Error::system("rank " + std::to_string(plan.rank) + " can't be pinned to cores " +
                                 formatCores(plan.affinity),
                             failure.error, "choose cores this process may use");
    case Stage::Exec: {
        Error error = Error::system("'" + plan.command.front() + "' can't be run", failure.error,
                                    "check the path and that it is made for this machine");
        error.kind = ErrorKind::BadArgument;
        return error;
    }
    case Stage::ParentGone:
        break;
    }
    return Error::failed("rank " + std::to_string(plan.rank) + " lost its agent while starting");
}

bool isIgnored(int signal) {
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

} // namespace

std::string signalName(int signal) {
    const char *name = ::sigabbrev_np(signal);
    return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

sigset_t endingSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    for (const int signal : {SIGINT, SIGHUP})
        if (!isIgnored(signal))
            sigaddset(&signals, signal);
    return signals;
}

Result<RankProcess> RankProcess::spawn(const RankPlan &plan, int listener, int cgroup) {
    auto out = makePipe(true);
    auto err = makePipe(true);
    auto failurePipe = makePipe(false);
    for (const auto *pipe : {&out, &err, &failurePipe})
        if (!*pipe)
            return fail(pipe->error());
    std::vector<std::string> arguments = plan.command;
    std::vector<std::string> environment = environmentOf(plan);
    const auto argumentPointers = pointersTo(arguments), environmentPointers = pointersTo(environment);
    cpu_set_t affinity;
    CPU_ZERO(&affinity);
    for (const int core : plan.affinity)
        CPU_SET(static_cast<std::size_t>(core), &affinity);
    const ChildSetup setup{::getpid(),
                           argumentPointers.data(),
                           environmentPointers.data(),
                           plan.affinity.empty() ? nullptr : &affinity,
                           out->writeEnd.get(),
                           err->writeEnd.get(),
                           listener,
                           failurePipe->writeEnd.get(),
                           cgroup};
    const pid_t pid = ::fork();
    if (pid < 0)
        return fail(Error::system("rank " + std::to_string(plan.rank) + " can't be started", errno,
                                  "raise the limit of processes (ulimit -u) or free memory"));
    if (pid == 0)
        becomeRank(setup);
    ::setpgid(pid, pid); // done here and in the child, whichever comes first
    failurePipe->writeEnd.close();
    Failure failure{};
    ssize_t n = 0;
    do
        n = ::read(failurePipe->readEnd.get(), &failure, sizeof failure);
    while (n < 0 && errno == EINTR);
    if (n == sizeof failure) {
        ::waitpid(pid, nullptr, 0);
        return fail(errorOf(failure, plan));
    }
    RankProcess process;
    process.m_pid = pid;
    process.m_pidFd = Fd(::pidfd_open(pid, 0));
    process.m_stdout = std::move(out->readEnd);
    process.m_stderr = std::move(err->readEnd);
    return process;
}

void RankProcess::signal(int number) const {
    if (!m_reaped)
        ::pidfd_send_signal(m_pidFd.get(), number, nullptr, 0);
}

void RankProcess::signalGroup(int number) const {
    if (!m_reaped) // afterwards the number may belong to another process
        ::kill(-m_pid, number);
}

void RankProcess::killGroup() const {
    signalGroup(SIGKILL);
    signal(SIGKILL); // it may have left its group
}

bool RankProcess::ended() const {
    siginfo_t info{};
    return m_reaped || (::waitid(P_PIDFD, static_cast<id_t>(m_pidFd.get()), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                        info.si_pid != 0);
}

bool RankProcess::hasLeftOthers() const {
    return !m_reaped && std::ranges::any_of(childrenOf(::getpid()), [this](pid_t child) {
        siginfo_t info{};
        return child != m_pid && ::getpgid(child) == m_pid &&
               ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
    });
}

std::optional<ProcessExit> RankProcess::reap() {
    siginfo_t info{};
    if (m_reaped)
        return std::nullopt;
    if (::waitid(P_PIDFD, static_cast<id_t>(m_pidFd.get()), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        m_reaped = errno == ECHILD; // somebody else has reaped it
        return m_reaped ? std::optional(ProcessExit{}) : std::nullopt;
    }
    if (info.si_pid == 0)
        return std::nullopt;
    killGroup(); // while the zombie still holds the group's number
    ::waitid(P_PIDFD, static_cast<id_t>(m_pidFd.get()), &info, WEXITED);
    m_reaped = true;
    ProcessExit exit;
    if (info.si_code == CLD_EXITED)
        exit.code = info.si_status;
    else
        exit.signal = info.si_status;
    return exit;
}

} // namespace lockstep::agent
