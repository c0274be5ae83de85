// SPDX-License-Identifier: MIT
#include "trainer/agent/ranks/group_keeper.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <set>

namespace lockstep::agent {

namespace {

void send(int pipe, std::int32_t message) {
    while (::write(pipe, &message, sizeof message) < 0 && errno == EINTR) {
    }
}

/// The keeper's main function. Its messages are process groups: positive to add, negative to remove.
[[noreturn]] void keep(int pipe) {
    ::setsid();
    ::prctl(PR_SET_NAME, "lockstep-keeper");
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGQUIT})
        ::signal(signal, SIG_IGN);
    constexpr int own = 3;
    ::dup2(pipe, own);
    ::close_range(own + 1, ~0u, 0);
    const int null = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd < own; ++fd)
        ::dup2(null, fd);
    ::close(null);

    std::set<pid_t> groups;
    std::int32_t message = 0;
    for (;;) {
        const ssize_t n = ::read(own, &message, sizeof message);
        if (n < 0 && errno == EINTR)
            continue;
        if (n != sizeof message)
            break; // the agent is gone
        if (message > 0)
            groups.insert(message);
        else
            groups.erase(-message);
    }
    for (const pid_t group : groups)
        ::kill(-group, SIGKILL);
    ::_exit(0);
}

} // namespace

Result<GroupKeeper> GroupKeeper::start() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return fail(Error::system("a pipe can't be made", errno, "raise the limit of open files (ulimit -n)"));
    Fd readEnd(ends[0]);
    GroupKeeper keeper;
    keeper.m_pipe = Fd(ends[1]);
    keeper.m_pid = ::fork();
    if (keeper.m_pid < 0)
        return fail(Error::system("a process can't be started", errno, "raise the limit of processes (ulimit -u)"));
    if (keeper.m_pid == 0)
        keep(readEnd.get());
    return keeper;
}

void GroupKeeper::add(pid_t group) {
    send(m_pipe.get(), group);
}

void GroupKeeper::remove(pid_t group) {
    send(m_pipe.get(), -group);
}

} // namespace lockstep::agent
