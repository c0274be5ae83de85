// SPDX-License-Identifier: MIT
#include "trainer/agent/ranks/group_keeper.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "ipc/clock.h"

extern "C" { // glibc 2.36's header lacks this
#include <sys/pidfd.h>
}

namespace lockstep::agent {

namespace {

constexpr const char *keeperName = "lockstep-keeper"; ///< 15 characters, as many as the kernel keeps
constexpr int mostSweeps = 100;
constexpr useconds_t betweenSweeps = 5'000;

/// What the agent has sent to the keeper: "+GROUP", "-GROUP", "/path of a file", "." at its end. Each ends with a zero byte, the only one that
/// no path has.
struct Charge {
    std::set<pid_t> groups;
    std::set<std::string> files;
    bool finished = false;

    void take(const std::string &word) {
        pid_t group = 0;
        std::from_chars(word.data() + 1, word.data() + word.size(), group);
        if (word[0] == '/')
            files.insert(word);
        else if (word[0] == '+')
            groups.insert(group);
        else if (word[0] == '-')
            groups.erase(group);
        else if (word == ".")
            finished = true;
    }
};

/// Reads until the agent is gone.
Charge readCharge(int pipe) {
    Charge charge;
    std::string word;
    char buffer[512];
    for (;;) {
        const ssize_t n = ::read(pipe, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return charge;
        for (const char c : std::string_view(buffer, static_cast<std::size_t>(n)))
            if (c != '\0')
                word += c;
            else if (!word.empty())
                charge.take(std::exchange(word, {}));
    }
}

void leaveDescriptors(int pipe) {
    constexpr int own = 3;
    ::dup2(pipe, own);
    ::close_range(own + 1, ~0u, 0);
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < own; ++fd)
        ::dup2(null, fd);
    ::close(null);
}

/// Another agent's, which one of the ranks has started: it has the ranks of that agent to end, and is gone a moment later.
bool isKeeper(pid_t pid) {
    const Fd file(::open(("/proc/" + std::to_string(pid) + "/comm").c_str(), O_RDONLY | O_CLOEXEC));
    char name[32];
    const ssize_t n = file.valid() ? ::read(file.get(), name, sizeof name) : 0;
    return n > 0 && std::string_view(name, static_cast<std::size_t>(n)) == std::string(keeperName) + "\n";
}

bool hasVariable(pid_t pid, std::string_view variable) {
    const Fd file(::open(("/proc/" + std::to_string(pid) + "/environ").c_str(), O_RDONLY | O_CLOEXEC));
    std::string text(1, '\0');
    char buffer[16384];
    for (ssize_t n = 1; file.valid() && n > 0;) {
        n = ::read(file.get(), buffer, sizeof buffer);
        text.append(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    return text.find(std::string(1, '\0') + std::string(variable) + '\0') != std::string::npos;
}

/// What has the mark in its environment, without this process.
struct Marked {
    std::vector<pid_t> processes, keepers;
};

Marked findMarked(std::string_view mark) {
    const std::string variable = std::string(GroupKeeper::markName) + "=" + std::string(mark);
    Marked found;
    DIR *processes = ::opendir("/proc");
    while (const dirent *entry = processes ? ::readdir(processes) : nullptr) {
        pid_t pid = 0;
        const char *end = entry->d_name + std::strlen(entry->d_name);
        if (std::from_chars(entry->d_name, end, pid).ptr != end || pid == ::getpid() || !hasVariable(pid, variable))
            continue;
        (isKeeper(pid) ? found.keepers : found.processes).push_back(pid);
    }
    if (processes)
        ::closedir(processes);
    return found;
}

/// Ends the agents that the ranks have started, and waits a moment until their keepers have ended what is theirs: a control group's end
/// would be theirs, too.
void endInnerRuns(std::string_view mark) {
    if (findMarked(mark).keepers.empty())
        return;
    killMarked(mark);
    for (int sweep = 0; sweep < mostSweeps && !findMarked(mark).keepers.empty(); ++sweep)
        ::usleep(betweenSweeps);
}

/// The keeper's main function.
[[noreturn]] void keep(int pipe, const std::string &mark, const std::string &cgroup) {
    ::setsid();
    ::prctl(PR_SET_NAME, keeperName);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGQUIT})
        ::signal(signal, SIG_IGN);
    leaveDescriptors(pipe);
    const Charge charge = readCharge(3);
    const std::optional<RunCgroup> group = RunCgroup::open(cgroup);
    if (!charge.finished) {
        endInnerRuns(mark);
        if (group)
            group->kill();
        for (const pid_t one : charge.groups)
            ::kill(-one, SIGKILL);
        killMarked(mark);
        for (const std::string &file : charge.files)
            ::unlink(file.c_str());
    }
    if (group)
        group->remove();
    ::_exit(0);
}

std::string makeMark() {
    const SystemClock clock;
    return std::to_string(::getpid()) + "-" + std::to_string(clock.monoNs());
}

} // namespace

void killMarked(std::string_view mark) {
    for (int sweep = 0; sweep < mostSweeps; ++sweep) {
        const Marked found = findMarked(mark);
        if (found.processes.empty())
            return;
        for (const pid_t pid : found.processes)
            ::kill(pid, SIGKILL);
        ::usleep(betweenSweeps); // a process that was just starting another one
    }
}

Result<GroupKeeper> GroupKeeper::start() {
    GroupKeeper keeper;
    keeper.m_mark = makeMark();
    keeper.m_cgroup = RunCgroup::make("lockstep-" + keeper.m_mark);
    if (auto forked = keeper.fork(); !forked)
        return fail(forked.error());
    return keeper;
}

Result<void> GroupKeeper::fork() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return fail(Error::system("a pipe can't be made", errno, "raise the limit of open files (ulimit -n)"));
    const Fd readEnd(ends[0]);
    m_pipe = Fd(ends[1]);
    const std::string cgroup = m_cgroup ? m_cgroup->path() : std::string();
    m_pid = ::fork();
    if (m_pid < 0)
        return fail(Error::system("a process can't be started", errno, "raise the limit of processes (ulimit -u)"));
    if (m_pid == 0)
        keep(readEnd.get(), m_mark, cgroup);
    m_pidFd = Fd(::pidfd_open(m_pid, 0));
    return {};
}

Result<void> GroupKeeper::startAgain() {
    if (auto forked = fork(); !forked)
        return forked;
    for (const pid_t group : m_groups)
        send("+" + std::to_string(group));
    for (const std::string &file : m_files)
        send(file);
    return {};
}

void GroupKeeper::send(const std::string &word) const {
    while (::write(m_pipe.get(), word.c_str(), word.size() + 1) < 0 && errno == EINTR) {
    }
}

void GroupKeeper::add(pid_t group) {
    m_groups.insert(group);
    send("+" + std::to_string(group));
}

void GroupKeeper::remove(pid_t group) {
    m_groups.erase(group);
    send("-" + std::to_string(group));
}

void GroupKeeper::removeLater(const std::string &path) {
    if (m_files.insert(path).second)
        send(path);
}

void GroupKeeper::killStrays() {
    endInnerRuns(m_mark);
    if (m_cgroup)
        m_cgroup->kill();
    killMarked(m_mark);
}

GroupKeeper::~GroupKeeper() {
    if (m_pipe.valid())
        send(".");
}

} // namespace lockstep::agent
