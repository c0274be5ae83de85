// SPDX-License-Identifier: MIT
#include "tests/trainer/loaded_trainer/loaded_trainer.h"

#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lockstep::trainer::test {

namespace {
constexpr int itsSocket = 3;
}

LoadedTrainer::LoadedTrainer([[maybe_unused]] const std::string &program) {
#ifdef LOCKSTEP_LOADED_TRAINER
    int ends[2];
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    std::vector<std::string> arguments{program};
    std::vector<std::string> settings{std::string("LD_PRELOAD=") + LOCKSTEP_LOADED_TRAINER,
                                      std::string(requestSocketVariable) + "=" + std::to_string(itsSocket)};
    for (char **it = environ; *it; ++it)
        settings.emplace_back(*it);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], itsSocket);
    posix_spawn_file_actions_addclosefrom_np(&files, itsSocket + 1); // a test's port would stay taken
    if (::posix_spawn(&m_pid, program.c_str(), &files, nullptr, pointersTo(arguments).data(),
                      pointersTo(settings).data()) != 0)
        m_pid = -1;
    posix_spawn_file_actions_destroy(&files);
    ::close(ends[1]);
    m_socket = ends[0];
#endif
}

LoadedTrainer::~LoadedTrainer() {
    if (m_socket >= 0)
        ::close(m_socket); // at which it ends
    if (m_pid > 0)
        ::waitpid(m_pid, nullptr, 0);
}

pid_t LoadedTrainer::start(const StartRequest &request) {
    const std::string packet = request.packet();
    pid_t started = -1;
    if (m_pid < 0 || ::send(m_socket, packet.data(), packet.size(), MSG_NOSIGNAL) < 0 ||
        ::recv(m_socket, &started, sizeof started, 0) != sizeof started)
        return -1;
    return started;
}

} // namespace lockstep::trainer::test
