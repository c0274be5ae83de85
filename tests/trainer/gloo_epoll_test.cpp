// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "ipc/cores.h"
#include "ipc/unix_socket.h"

using namespace lockstep;

namespace {

/// How often the kernel has given this thread's core to another one, though it could have gone on.
long coresLost() {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

/// Waits 400 times for an event that nobody reads, beside a thread that computes on the same core.
template <class Handle> long coresLostIn400Waits(Handle handle) {
    long lost = 0;
    std::thread([&] { // pinned, and the test's own thread is not
        const CoreList core = {allowedCores().front()};
        CHECK(pinThread(core));
        std::atomic<bool> over = false;
        std::thread other([&over] {
            while (!over)
                continue;
        });
        const Fd epoll(::epoll_create1(EPOLL_CLOEXEC)), unread(::eventfd(1, EFD_CLOEXEC));
        epoll_event event{.events = EPOLLIN, .data = {.fd = unread.get()}};
        CHECK(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, unread.get(), &event) == 0);
        const long before = coresLost();
        for (int i = 0; i < 400; ++i) {
            CHECK(::epoll_wait(epoll.get(), &event, 1, -1) == 1);
            handle();
        }
        lost = coresLost() - before;
        over = true;
        other.join();
    })
        .join();
    return lost;
}

} // namespace

TEST_SUITE("gloo_epoll") {
    TEST_CASE("a thread that is told of the same event again and again gives its core to the one that must handle it") {
        CHECK(coresLostIn400Waits([] {}) > 10);
    }

    TEST_CASE("a thread that handles what it is told of keeps its core") {
        const auto handle = [] {
            const auto begun = std::chrono::steady_clock::now();
            while (std::chrono::steady_clock::now() - begun < std::chrono::microseconds(10))
                continue;
        };
        CHECK(coresLostIn400Waits(handle) < 10);
    }

    TEST_CASE("the trainer's libraries find its epoll_wait, whatever they are linked with") {
        FILE *symbols = ::popen("nm -D --defined-only '" LOCKSTEP_BIN_DIR "/lockstep-trainer'", "r");
        REQUIRE(symbols);
        std::string all;
        std::array<char, 4096> line{};
        while (std::fgets(line.data(), int(line.size()), symbols))
            all += line.data();
        CHECK(::pclose(symbols) == 0);
        CHECK(all.find(" T epoll_wait\n") != std::string::npos);
    }

    TEST_CASE("what epoll says is passed on") {
        const Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
        epoll_event event{};
        CHECK(::epoll_wait(epoll.get(), &event, 1, 0) == 0);
        CHECK(::epoll_wait(-1, &event, 1, 0) == -1);
        CHECK(errno == EBADF);
    }
}
