// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>

#include "ipc/error.h"

namespace lockstep {

/// Owns a file descriptor.
class Fd {
public:
    Fd() = default;
    explicit Fd(int fd) : m_fd(fd) {}
    ~Fd();
    Fd(Fd &&other) noexcept : m_fd(std::exchange(other.m_fd, -1)) {}
    Fd &operator=(Fd &&other) noexcept;
    [[nodiscard]] int get() const { return m_fd; }
    [[nodiscard]] bool valid() const { return m_fd >= 0; }
    int release() { return std::exchange(m_fd, -1); }
    void close();

private:
    int m_fd = -1;
};

/// Accepts connections of one listener. If descriptors run out, the waiting connection is dropped by means of a reserve
/// descriptor: otherwise it would stay in the queue, and poll would report it for ever.
class Acceptor {
public:
    Acceptor();
    /// A non-blocking connection; an invalid Fd if none waits. An error: one was dropped.
    Result<Fd> accept(int listener);

private:
    Fd m_reserve;
};

struct PeerCredentials {
    pid_t pid = 0;
    uid_t uid = 0;
};
[[nodiscard]] Result<PeerCredentials> peerCredentials(int fd); ///< SO_PEERCRED

/// A listening local socket that nobody can take over. While it lives, it holds the path's lock file (PATH.lock, see
/// FileLock). Its folder belongs to this user with mode 0700. A stale socket is removed only under the lock.
/// Non-blocking, close-on-exec.
class UnixListener {
public:
    /// The error names the owner's pid if a live process holds the path.
    static Result<UnixListener> bind(const std::string &path);
    /// Removes the sockets in this folder whose owners were killed, with their lock files; a live one stays.
    static void removeStale(const std::string &folder);
    ~UnixListener(); ///< removes socket and lock file
    UnixListener(UnixListener &&) noexcept = default;
    UnixListener &operator=(UnixListener &&other) noexcept; ///< removes those that this one held

    [[nodiscard]] int fd() const { return m_socket.get(); }
    [[nodiscard]] const std::string &path() const { return m_path; }
    /// An invalid Fd if no connection waits. A peer of another user is closed; the error names its uid. If descriptors
    /// run out, the waiting connection is dropped by means of a reserve descriptor, and the listener goes on.
    Result<Fd> accept();

private:
    UnixListener() = default;
    void remove();
    std::string m_path;
    Fd m_socket, m_lock;
    Acceptor m_acceptor;
};

/// Connects, blocking; with `nonBlocking` the returned socket is non-blocking.
[[nodiscard]] Result<Fd> connectUnix(const std::string &path, bool nonBlocking);

/// An exclusive lock on a file, held as long as this object lives. The kernel releases it however the process dies.
class FileLock {
public:
    /// The error is "PATH is held by pid N". Writes this process's pid and the file's inode into the file. Blocks up to
    /// `patience` while another process holds the lock.
    static Result<FileLock> acquire(const std::string &path, std::chrono::milliseconds patience = {});
    FileLock(FileLock &&) noexcept = default;
    FileLock &operator=(FileLock &&) noexcept = default;
    /// Whether a live process holds the lock. The file may be missing.
    static bool isHeld(const std::string &path);
    /// Whether the file names another inode than its own: it was copied from one that somebody has locked, of whom it says nothing.
    static bool isCopy(const std::string &path);
    /// Whether this lock's file is still the one of that name. If it was removed, another process may hold a lock of that name, too.
    [[nodiscard]] bool isAt(const std::string &path) const;

private:
    FileLock() = default;
    Fd m_fd;
};

} // namespace lockstep
