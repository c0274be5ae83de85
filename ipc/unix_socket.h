// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

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

struct PeerCredentials {
    pid_t pid = 0;
    uid_t uid = 0;
};
[[nodiscard]] Result<PeerCredentials> peerCredentials(int fd); ///< SO_PEERCRED

/// A listening local socket that can't be stolen: the path's lock file (PATH.lock, see FileLock) is held while it lives, the
/// folder is ours and 0700, a stale socket is removed only under the lock. Non-blocking, close-on-exec.
class UnixListener {
public:
    /// Fails with the owner's pid when a live process holds the path.
    static Result<UnixListener> bind(const std::string &path);
    ~UnixListener(); ///< unlinks socket and lock
    UnixListener(UnixListener &&) noexcept = default;
    UnixListener &operator=(UnixListener &&other) noexcept; ///< unlinks what this one held

    [[nodiscard]] int fd() const { return m_socket.get(); }
    [[nodiscard]] const std::string &path() const { return m_path; }
    /// Invalid Fd when none waits. A peer of another uid is closed and returned as an error naming the uid. When
    /// descriptors run out the waiting connection is dropped through a reserve descriptor and the listener lives on.
    Result<Fd> accept();

private:
    UnixListener() = default;
    void remove();
    std::string m_path;
    Fd m_socket, m_lock, m_reserve;
};

/// Blocking connect; the fd is then non-blocking if asked.
[[nodiscard]] Result<Fd> connectUnix(const std::string &path, bool nonBlocking);

/// An exclusive lock on a file, held while it lives; tells who holds it otherwise. Released by the kernel at any death.
class FileLock {
public:
    /// Error: "PATH is held by pid N". The holder's pid is written into the file.
    static Result<FileLock> acquire(const std::string &path);
    FileLock(FileLock &&) noexcept = default;
    FileLock &operator=(FileLock &&) noexcept = default;
    /// Whether some live process holds it; the file may be missing.
    static bool isHeld(const std::string &path);

private:
    FileLock() = default;
    Fd m_fd;
};

} // namespace lockstep
