// SPDX-License-Identifier: MIT
// The connection of a rank to a listener on the network.
#include <doctest/doctest.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "ipc/messages.h"
#include "ipc/resolve.h"
#include "ipc/unix_socket.h"
#include "trainer/report/frame_address.h"

using namespace lockstep;
using namespace lockstep::trainer;

namespace {

/// A port of 127.0.0.1 on which somebody listens.
class LocalPort {
public:
    explicit LocalPort(int waiting) {
        sockaddr_in place{};
        place.sin_family = AF_INET;
        place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof place;
        auto *address = reinterpret_cast<sockaddr *>(&place);
        REQUIRE(::bind(m_fd.get(), address, size) == 0);
        REQUIRE(::listen(m_fd.get(), waiting) == 0);
        REQUIRE(::getsockname(m_fd.get(), address, &size) == 0);
        m_place = "127.0.0.1:" + std::to_string(ntohs(place.sin_port));
    }
    [[nodiscard]] NetAddress address() const { return resolveNumeric(m_place).value().front(); }
    [[nodiscard]] Fd accept() const { return Fd(::accept4(m_fd.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

private:
    Fd m_fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    std::string m_place;
};

/// A port that doesn't answer: those who wait to be accepted there are too many already.
class SilentPort : public LocalPort {
public:
    SilentPort() : LocalPort(0) {
        for (Fd &one : m_waiting) {
            one = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
            const NetAddress here = address();
            const bool asked = ::connect(one.get(), here.get(), here.length) == 0 || errno == EINPROGRESS;
            CHECK(asked);
        }
    }

private:
    std::array<Fd, 4> m_waiting;
};

} // namespace

TEST_SUITE("frame_address") {
    TEST_CASE("an address that does not answer leaves time for the next one of the listener's host") {
        const SilentPort nobody;
        const LocalPort listener(1);
        Fd rank; // stays open: the answer is not lost
        std::thread welcome([&] {
            rank = listener.accept();
            Hello hello;
            hello.role = "agent";
            const std::string line = encode(hello) + "\n";
            (void)::send(rank.get(), line.data(), line.size(), MSG_NOSIGNAL);
        });
        const NetAddresses both = std::vector{nobody.address(), listener.address()};
        const auto link = connectToListener("tcp://listener.test:4799", both, 0, std::chrono::seconds(4));
        if (!link) { // lets the thread end
            const NetAddress here = listener.address();
            const Fd guest(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            CHECK(::connect(guest.get(), here.get(), here.length) == 0);
        }
        welcome.join();
        CHECK_MESSAGE(link.has_value(), (link ? std::string() : link.error().message()));
    }
}
