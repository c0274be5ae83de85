// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "ipc/port_holder.h"
#include "ipc/unix_socket.h"
#include "tests/qt_test.h"

using namespace lockstep;

namespace {

/// A socket bound to a free port of this machine.
struct BoundSocket {
    explicit BoundSocket(int family = AF_INET) : fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_storage address{};
        address.ss_family = sa_family_t(family);
        socklen_t length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
        if (family == AF_INET6)
            reinterpret_cast<sockaddr_in6 &>(address).sin6_addr = in6addr_loopback;
        else
            reinterpret_cast<sockaddr_in &>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), length) != 0)
            return;
        ::getsockname(fd.get(), reinterpret_cast<sockaddr *>(&address), &length);
        port = ntohs(family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(address).sin6_port
                                        : reinterpret_cast<sockaddr_in &>(address).sin_port);
    }
    [[nodiscard]] bool listen() const { return port > 0 && ::listen(fd.get(), 1) == 0; }
    Fd fd;
    int port = 0;
};

/// Another process with all our descriptors. It ends with this object.
class Heir {
public:
    Heir() : m_pid(::fork()) {
        if (m_pid == 0)
            for (;;)
                ::pause();
    }
    ~Heir() {
        ::kill(m_pid, SIGKILL);
        ::waitpid(m_pid, nullptr, 0);
    }
    Heir(const Heir &) = delete;
    Heir &operator=(const Heir &) = delete;
    [[nodiscard]] pid_t pid() const { return m_pid; }

private:
    pid_t m_pid;
};

std::string ownName() {
    std::ifstream file("/proc/self/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

} // namespace

class PortHolderTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aFreePortHasNoHolder() {
        const BoundSocket bound;
        QVERIFY(bound.port > 0);
        QVERIFY(!holderOfPort(bound.port)); // bound, but nobody listens
    }

    void theOnlyHolderIsNamedEvenIfItAsks() {
        const BoundSocket socket;
        QVERIFY(socket.listen());
        QVERIFY(holderOfPort(socket.port) == (PortHolder{::getpid(), ownName()}));
    }

    void aSocketOfIPv6IsFound() {
        const BoundSocket socket(AF_INET6);
        if (!socket.listen())
            QSKIP("no IPv6 on this machine");
        QVERIFY(holderOfPort(socket.port) == (PortHolder{::getpid(), ownName()}));
    }

    void anotherProcessIsNamedBeforeTheAsker() {
        const BoundSocket socket;
        QVERIFY(socket.listen());
        const Heir heir;
        QVERIFY(holderOfPort(socket.port) == (PortHolder{heir.pid(), ownName()}));
    }

    void anAskerThatInheritedTheSocketNamesItsParent() {
        const BoundSocket socket;
        QVERIFY(socket.listen());
        const pid_t parent = ::getpid();
        const pid_t child = ::fork();
        if (child == 0) {
            const auto holder = holderOfPort(socket.port);
            ::_exit(holder && holder->pid == parent ? 0 : 1);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        QVERIFY(WIFEXITED(status));
        QCOMPARE(WEXITSTATUS(status), 0);
    }

    void itsWords() {
        QCOMPARE((PortHolder{4711, "python3"}.words()), std::string("4711 (python3)"));
        QCOMPARE((PortHolder{4711, {}}.words()), std::string("4711"));
    }
};

QTEST_GUILESS_MAIN(PortHolderTest)
#include "port_holder_test.moc"
