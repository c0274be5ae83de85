// SPDX-License-Identifier: MIT
// For a program that is started with LD_PRELOAD=libfailing_files.so: the n-th of the operations that change files below one
// folder fails.
//   FAILING_FILES_BELOW=FOLDER       operations on other files are left alone
//   FAILING_FILES_WITH=TEXT          and so are those on paths without this text; empty: none
//   FAILING_FILES_PROGRAM=NAME       the program whose operations count; what it starts under other names is left alone
//   FAILING_FILES_COUNT=FILE         eight bytes of zeros outside the folder, in which all its processes count together
//   FAILING_FILES_LOG=FILE           gets a line an operation: number, kind, path below the folder
//   FAILING_FILES_AT=N               the operation that fails, from 1; 0: none
//   FAILING_FILES_HOW=once           it alone fails
//                     ever           it fails, and all after it
//                     short          half of its bytes are written, and all after it fail
//                     stop           the program is killed before it
//   FAILING_FILES_ERROR=ERRNO
// What goes around these functions is left alone, such as stdio's own writing (the agent's console log).
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/preloaded.h"

using namespace lockstep::preloaded;

namespace {

using Open = int(const char *, int, ...);
using Write = ssize_t(int, const void *, size_t);

std::string_view word(const char *name) {
    const char *value = ::getenv(name);
    return value ? value : "";
}

struct Orders {
    std::string_view below, with, how;
    long at = 0;
    int error = ENOSPC, log = -1;
    std::atomic<long> *counter = nullptr; ///< null: this program is left alone

    Orders() {
        const std::string_view program = program_invocation_short_name;
        const char *count = ::getenv("FAILING_FILES_COUNT");
        below = word("FAILING_FILES_BELOW");
        if (below.empty() || !count || program != word("FAILING_FILES_PROGRAM"))
            return;
        with = word("FAILING_FILES_WITH");
        how = word("FAILING_FILES_HOW");
        at = std::atol(word("FAILING_FILES_AT").data());
        error = std::atoi(word("FAILING_FILES_ERROR").data());
        log = next<Open>("open")(::getenv("FAILING_FILES_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        const int file = next<Open>("open")(count, O_RDWR | O_CLOEXEC);
        void *shared = ::mmap(nullptr, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (shared != MAP_FAILED)
            counter = static_cast<std::atomic<long> *>(shared);
        ::close(file);
    }
};

const Orders &orders() {
    static const Orders given;
    return given;
}

enum class Fate { Allowed, Refused, Halved };

/// Counts an operation on that path, and says what becomes of it.
Fate fateOf(const char *kind, std::string_view path) {
    const Orders &given = orders();
    if (!path.starts_with(given.below) || path.find(given.with) == path.npos)
        return Fate::Allowed;
    const long number = ++*given.counter;
    char line[PATH_MAX + 64];
    path.remove_prefix(given.below.size());
    const int size = std::snprintf(line, sizeof line, "%ld %s %.*s\n", number, kind, int(path.size()), path.data());
    if (next<Write>("write")(given.log, line, std::size_t(size)) < 0)
        std::abort();
    if (given.at == 0 || number < given.at)
        return Fate::Allowed;
    if (given.how == "stop")
        ::kill(::getpid(), SIGKILL);
    if (given.how == "once" && number > given.at)
        return Fate::Allowed;
    return given.how == "short" && number == given.at ? Fate::Halved : Fate::Refused;
}

Fate fateOf(const char *kind, int fd) {
    return orders().counter ? fateOf(kind, pathOf(fd)) : Fate::Allowed;
}

/// Of a path that is relative to an open folder, or to the current one.
Fate fateOf(const char *kind, int folder, const char *path) {
    if (!orders().counter || !path)
        return Fate::Allowed;
    return fateOf(kind, *path == '/' ? path : pathOf(folder) + "/" + path);
}

int refused() {
    errno = orders().error;
    return -1;
}

/// Of a folder that is there already nothing changes, and no disk refuses that.
bool isThere(int folder, const char *path) {
    const int kept = errno;
    struct stat status {};
    const bool there = ::fstatat(folder, path, &status, 0) == 0;
    errno = kept;
    return there;
}

size_t half(size_t size) {
    return size > 1 ? size / 2 : size;
}

bool opensToWrite(int flags) {
    return (flags & O_ACCMODE) != O_RDONLY;
}

} // namespace

extern "C" {

#define MODE_OF(flags, mode)                                                                                           \
    va_list rest;                                                                                                      \
    va_start(rest, flags);                                                                                             \
    const mode_t mode = takesMode(flags) ? va_arg(rest, mode_t) : 0;                                                   \
    va_end(rest)

int open(const char *path, int flags, ...) {
    MODE_OF(flags, mode);
    if (opensToWrite(flags) && fateOf("open", AT_FDCWD, path) != Fate::Allowed)
        return refused();
    return next<Open>("open")(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE_OF(flags, mode);
    return ::open(path, flags | O_LARGEFILE, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    MODE_OF(flags, mode);
    if (opensToWrite(flags) && fateOf("open", folder, path) != Fate::Allowed)
        return refused();
    return next<int(int, const char *, int, ...)>("openat")(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
    MODE_OF(flags, mode);
    return ::openat(folder, path, flags | O_LARGEFILE, mode);
}

ssize_t write(int fd, const void *bytes, size_t size) {
    const Fate fate = fateOf("write", fd);
    return fate == Fate::Refused ? refused()
                                 : next<Write>("write")(fd, bytes, fate == Fate::Halved ? half(size) : size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
    const Fate fate = fateOf("write", fd);
    return fate == Fate::Refused ? refused()
                                 : next<ssize_t(int, const void *, size_t, off_t)>("pwrite")(
                                       fd, bytes, fate == Fate::Halved ? half(size) : size, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset) {
    return ::pwrite(fd, bytes, size, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    const Fate fate = fateOf("write", fd);
    return fate == Fate::Refused
               ? refused()
               : next<ssize_t(int, const struct iovec *, int)>("writev")(fd, parts, fate == Fate::Halved ? 1 : count);
}

int fsync(int fd) {
    return fateOf("sync", fd) == Fate::Allowed ? next<int(int)>("fsync")(fd) : refused();
}

int fdatasync(int fd) {
    return fateOf("sync", fd) == Fate::Allowed ? next<int(int)>("fdatasync")(fd) : refused();
}

int ftruncate(int fd, off_t size) noexcept {
    return fateOf("truncate", fd) == Fate::Allowed ? next<int(int, off_t)>("ftruncate")(fd, size) : refused();
}

int ftruncate64(int fd, off64_t size) noexcept {
    return ::ftruncate(fd, size);
}

int rename(const char *from, const char *to) noexcept {
    return fateOf("rename", AT_FDCWD, to) == Fate::Allowed ? next<int(const char *, const char *)>("rename")(from, to)
                                                           : refused();
}

int renameat2(int fromFolder, const char *from, int toFolder, const char *to, unsigned flags) noexcept {
    return fateOf("rename", toFolder, to) == Fate::Allowed ? next<int(int, const char *, int, const char *, unsigned)>(
                                                                 "renameat2")(fromFolder, from, toFolder, to, flags)
                                                           : refused();
}

int renameat(int fromFolder, const char *from, int toFolder, const char *to) noexcept {
    return ::renameat2(fromFolder, from, toFolder, to, 0);
}

int mkdirat(int folder, const char *path, mode_t mode) noexcept {
    return isThere(folder, path) || fateOf("mkdir", folder, path) == Fate::Allowed
               ? next<int(int, const char *, mode_t)>("mkdirat")(folder, path, mode)
               : refused();
}

int mkdir(const char *path, mode_t mode) noexcept {
    return ::mkdirat(AT_FDCWD, path, mode);
}

int linkat(int fromFolder, const char *from, int toFolder, const char *to, int flags) noexcept {
    return fateOf("link", toFolder, to) == Fate::Allowed
               ? next<int(int, const char *, int, const char *, int)>("linkat")(fromFolder, from, toFolder, to, flags)
               : refused();
}

int symlink(const char *target, const char *path) noexcept {
    return fateOf("link", AT_FDCWD, path) == Fate::Allowed
               ? next<int(const char *, const char *)>("symlink")(target, path)
               : refused();
}

} // extern "C"
