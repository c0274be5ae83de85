// SPDX-License-Identifier: MIT
#include "ipc/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "ipc/file_lock_detail.h"

namespace lockstep {

Fd::~Fd() {
    close();
}

Fd &Fd::operator=(Fd &&other) noexcept {
    if (this != &other) {
        close();
        m_fd = other.release();
    }
    return *this;
}

void Fd::close() {
    if (m_fd >= 0)
        ::close(std::exchange(m_fd, -1));
}

Result<PeerCredentials> peerCredentials(int fd) {
    ucred credentials{};
    socklen_t length = sizeof credentials;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
        return fail(Error::system("can't find out who is at the other end of a socket", errno));
    return PeerCredentials{credentials.pid, credentials.uid};
}

namespace {

Result<sockaddr_un> addressOf(const std::string &path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path || path.find('\0') != std::string::npos)
        return fail(Error::badArgument("the socket path " + path + " has " + std::to_string(path.size()) +
                                           " bytes, a socket's may have 1 to " +
                                           std::to_string(sizeof address.sun_path - 1),
                                       "use a shorter folder"));
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

int connectTo(int fd, const sockaddr_un &address) {
    while (::connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0) {
        if (errno != EINTR)
            return errno;
    }
    return 0;
}

bool isListenedOn(const sockaddr_un &address) {
    const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int answer = connectTo(probe.get(), address);
    return answer == 0 || answer == EAGAIN;
}

/// The folder must not be open to others, who could replace a socket in it.
Result<void> checkFolder(const std::string &path) {
    const auto slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0)
        return fail(Error::system("can't use the socket folder " + folder, errno));
    if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
        return fail(Error::failed("the socket folder " + folder + " is open to others",
                                  "make it yours alone: chmod 700 " + folder));
    return {};
}

} // namespace

Result<UnixListener> UnixListener::bind(const std::string &path) {
    const auto address = addressOf(path);
    if (!address)
        return fail(address.error());
    if (auto folder = checkFolder(path); !folder)
        return fail(folder.error());
    auto lock = detail::acquireLock(path + ".lock");
    if (!lock)
        return fail(std::move(lock.error()));
    UnixListener listener;
    listener.m_socket = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener.m_socket.valid())
        return fail(Error::system("can't make a socket", errno));
    // A leftover socket of an earlier owner, which is dead, since we hold the lock. Anything but a socket is kept.
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0) {
        if (!S_ISSOCK(status.st_mode))
            return fail(Error::failed(path + " exists and is not a socket", "remove it"));
        if (isListenedOn(*address))
            return fail(Error::failed(path + " is listened on by a process that holds no lock", "end that process"));
        ::unlink(path.c_str());
    }
    if (::bind(listener.m_socket.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof *address) != 0)
        return fail(Error::system("can't bind " + path, errno));
    listener.m_path = path;
    listener.m_lock = std::move(*lock);
    if (::chmod(path.c_str(), 0600) != 0 || ::listen(listener.m_socket.get(), 128) != 0)
        return fail(Error::system("can't listen on " + path, errno));
    return listener;
}

void UnixListener::removeStale(const std::string &folder) {
    std::error_code ignored;
    for (const auto &entry : std::filesystem::directory_iterator(folder, ignored)) {
        if (!entry.is_socket(ignored))
            continue;
        const auto address = addressOf(entry.path().string());
        if (!address || isListenedOn(*address))
            continue;
        auto lock = detail::acquireLock(entry.path().string() + ".lock");
        if (!lock)
            continue; // its owner is about to listen
        UnixListener stale;
        stale.m_path = entry.path().string();
        stale.m_lock = std::move(*lock);
    }
}

void UnixListener::remove() {
    // The names are ours only while the lock is held.
    if (!m_lock.valid())
        return;
    ::unlink(m_path.c_str());
    ::unlink((m_path + ".lock").c_str());
}

UnixListener::~UnixListener() {
    remove();
}

UnixListener &UnixListener::operator=(UnixListener &&other) noexcept {
    if (this != &other) {
        remove();
        m_path = std::move(other.m_path);
        m_socket = std::move(other.m_socket);
        m_acceptor = std::move(other.m_acceptor);
        m_lock = std::move(other.m_lock);
    }
    return *this;
}

Result<Fd> UnixListener::accept() {
    auto accepted = m_acceptor.accept(m_socket.get());
    if (!accepted)
        return fail(Error::failed(m_path + ": " + accepted.error().message()));
    Fd peer = std::move(*accepted);
    if (!peer.valid())
        return peer;
    const auto credentials = peerCredentials(peer.get());
    if (!credentials)
        return fail(credentials.error());
    if (credentials->uid != ::geteuid())
        return fail(Error::failed("uid " + std::to_string(credentials->uid) + " (pid " +
                                      std::to_string(credentials->pid) + ") tried to connect to " + m_path,
                                  "only uid " + std::to_string(::geteuid()) + " may"));
    return peer;
}

Result<Fd> connectUnix(const std::string &path, bool nonBlocking) {
    const auto address = addressOf(path);
    if (!address)
        return fail(address.error());
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd.valid())
        return fail(Error::system("can't make a socket", errno));
    if (const int error = connectTo(fd.get(), *address))
        return fail(Error::system("can't connect to " + path, error));
    if (nonBlocking) {
        const int flags = ::fcntl(fd.get(), F_GETFL);
        if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0)
            return fail(Error::system("can't use the connection to " + path, errno));
    }
    return fd;
}

} // namespace lockstep
