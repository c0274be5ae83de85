// SPDX-License-Identifier: MIT
// A library for LD_PRELOAD that makes a program start others of itself: once its libraries are loaded, it waits for requests instead of
// running main(), and for each one it starts a process (fork) that runs main().
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/preloaded.h"
#include "tests/trainer/loaded_trainer/request.h"

using namespace lockstep::trainer::test;

namespace {

using Main = int(int, char **, char **);
Main *programsMain;

void redirect(const std::string &path, int to) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ::dup2(file, to) < 0)
        ::_exit(127);
    ::close(file);
}

[[noreturn]] void runMain(std::string_view packet) {
    StartRequest request = StartRequest::read(packet);
    redirect(request.out, 1);
    redirect(request.err, 2);
    auto arguments = pointersTo(request.arguments), settings = pointersTo(request.environment);
    environ = settings.data();
    std::exit(programsMain(static_cast<int>(request.arguments.size()), arguments.data(), environ));
}

int serve(int, char **, char **) {
    const int socket = std::atoi(std::getenv(requestSocketVariable));
    auto *started =
        static_cast<pid_t *>(::mmap(nullptr, sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::string packet(1 << 18, '\0');
    for (ssize_t bytes = 0; (bytes = ::recv(socket, packet.data(), packet.size(), 0)) > 0;) {
        *started = -1;
        // Its parent is gone at once, so that it becomes a child of the test, which can wait for it.
        const pid_t parent = ::fork();
        if (parent == 0) {
            const pid_t own = ::fork();
            if (own == 0) {
                ::close(socket);
                runMain({packet.data(), static_cast<std::size_t>(bytes)});
            }
            *started = own;
            ::_exit(0);
        }
        if (parent > 0)
            ::waitpid(parent, nullptr, 0);
        if (::send(socket, started, sizeof *started, MSG_NOSIGNAL) < 0)
            break;
    }
    ::_exit(0);
}

} // namespace

/// The C library's own, which runs main().
extern "C" int __libc_start_main(Main *main, int argc, char **argv, void (*init)(), void (*fini)(),
                                 void (*loaderEnds)(), void *stackEnd) {
    programsMain = main;
    return lockstep::preloaded::next<decltype(__libc_start_main)>("__libc_start_main")(serve, argc, argv, init, fini,
                                                                                       loaderEnds, stackEnd);
}
