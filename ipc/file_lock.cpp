// SPDX-License-Identifier: MIT
// Locks are open-file-description locks. The kernel releases them however their owner dies. Unlike flock, they can be
// tested without being acquired (F_OFD_GETLK), so that readers do not disturb owners.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <thread>
#include <utility>

#include "ipc/file_lock.h"
#include "ipc/file_lock_detail.h"
#include "ipc/regular_file.h"
#include "ipc/unix_socket.h"

namespace lockstep {

bool isFileAt(int fd, const std::string &path) {
    struct stat held {
    }, named{};
    return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

namespace {

struct flock wholeFile() {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return lock;
}

std::string heldSentence(const std::string &path, int fd) {
    // The owner writes its pid right after it has locked the file: wait a moment for it.
    for (int attempt = 0; attempt < 20; ++attempt) {
        char buffer[32];
        const ssize_t got = ::pread(fd, buffer, sizeof buffer, 0);
        int pid = 0;
        if (got > 0 && std::from_chars(buffer, buffer + got, pid).ec == std::errc{} && pid > 0)
            return path + " is held by pid " + std::to_string(pid);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return path + " is held by another process";
}

/// 0: unknown.
std::uintmax_t inodeOf(int fd) {
    struct stat info {};
    return ::fstat(fd, &info) == 0 ? std::uintmax_t(info.st_ino) : 0;
}

/// `held`: whether it failed because another process holds the lock.
Result<Fd> lockFile(const std::string &path, bool &held) {
    held = false;
    // The previous owner may unlink the file between open and lock; then the lock is on a file that nobody else finds.
    // So check once the lock is held.
    for (int attempt = 0; attempt < 1000; ++attempt) {
        Result<Fd> opened = openToWrite(path, O_RDWR);
        if (!opened)
            return opened;
        Fd fd = std::move(*opened);
        struct flock lock = wholeFile();
        if (::fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) {
            if (errno != EAGAIN && errno != EACCES)
                return fail(Error::system("can't lock " + path, errno));
            held = true;
            return fail(Error::failed(heldSentence(path, fd.get())));
        }
        if (!isFileAt(fd.get(), path))
            continue;
        const std::string owner = std::to_string(::getpid()) + "\n" + std::to_string(inodeOf(fd.get())) + "\n";
        if (::ftruncate(fd.get(), 0) != 0 || ::pwrite(fd.get(), owner.data(), owner.size(), 0) < 0) {
            // E.g. a full disk: the lock is held nevertheless, only its owner stays unnamed.
        }
        return fd;
    }
    return fail(Error::failed("can't lock " + path + ": the file keeps being replaced"));
}

} // namespace

Result<Fd> detail::acquireLock(const std::string &path) {
    bool held = false;
    return lockFile(path, held);
}

bool FileLock::isAt(const std::string &path) const {
    return isFileAt(m_fd.get(), path);
}

Result<FileLock> FileLock::acquire(const std::string &path, std::chrono::milliseconds patience) {
    constexpr std::chrono::milliseconds pause{10};
    bool held = false;
    const auto begin = std::chrono::steady_clock::now();
    auto fd = lockFile(path, held);
    while (!fd && held && std::chrono::steady_clock::now() - begin < patience) {
        std::this_thread::sleep_for(pause);
        fd = lockFile(path, held);
    }
    if (!fd)
        return fail(std::move(fd.error()));
    FileLock lock;
    lock.m_fd = std::move(*fd);
    return lock;
}

Result<FileLock> takeLock(const std::string &path, Error ifHeld) {
    auto lock = FileLock::acquire(path);
    if (!lock && !FileLock::isHeld(path))
        lock = FileLock::acquire(path); // its owner may have ended meanwhile
    if (lock || !FileLock::isHeld(path))
        return lock;
    ifHeld.what += " (" + lock.error().what + ")";
    return fail(std::move(ifHeld));
}

bool FileLock::isCopy(const std::string &path) {
    const Result<Fd> fd = openRegular(path);
    if (!fd)
        return false;
    char buffer[64];
    const ssize_t got = ::pread(fd->get(), buffer, sizeof buffer, 0);
    const std::string_view text(buffer, std::size_t(std::max<ssize_t>(0, got)));
    const std::size_t line = text.find('\n'); // after the pid
    if (line == text.npos)
        return false;
    std::uintmax_t inode = 0;
    const auto read = std::from_chars(text.data() + line + 1, text.data() + text.size(), inode);
    return read.ec == std::errc{} && inode != inodeOf(fd->get());
}

bool FileLock::isHeld(const std::string &path) {
    const Result<Fd> fd = openRegular(path);
    if (!fd)
        return false;
    struct flock lock = wholeFile();
    return ::fcntl(fd->get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

} // namespace lockstep
