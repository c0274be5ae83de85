// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

#include "ipc/unix_socket.h"

namespace lockstep {

namespace {
Fd openReserve() {
    return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool nobodyWaits(int error) {
    return error == EAGAIN || error == EWOULDBLOCK;
}
} // namespace

Acceptor::Acceptor() : m_reserve(openReserve()) {}

Result<Fd> Acceptor::accept(int listener) {
    for (;;) {
        if (!m_reserve.valid())
            m_reserve = openReserve();
        Fd peer(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (peer.valid() || nobodyWaits(errno))
            return peer;
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        const int error = errno;
        if (error == EMFILE || error == ENFILE) {
            // The kernel reports "no descriptors" before it checks whether a connection waits, so this is known only now.
            m_reserve.close();
            const Fd dropped(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
            const bool nobody = !dropped.valid() && nobodyWaits(errno);
            if (nobody) {
                m_reserve = openReserve();
                return Fd();
            }
        }
        return fail(Error::system("a connection was dropped", error));
    }
}

} // namespace lockstep
