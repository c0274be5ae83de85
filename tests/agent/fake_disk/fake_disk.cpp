// SPDX-License-Identifier: MIT
// A disk that misbehaves, for a program that is started with LD_PRELOAD=libfake_disk.so. FAKE_DISK names a folder outside the
// disk; a file there switches a fault on: `sync_fails` makes fdatasync fail, `hangs` makes whatever touches LOCKSTEP_HOME wait
// until the file is gone, as a network file server that does not answer does.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/preloaded.h"

using namespace lockstep::preloaded;

namespace {

bool isOn(const char *fault) {
    const char *folder = ::getenv("FAKE_DISK");
    char path[4096];
    std::snprintf(path, sizeof path, "%s/%s", folder ? folder : "", fault);
    return folder && ::syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

void answer(const char *path) {
    const char *home = ::getenv("LOCKSTEP_HOME");
    if (!home || std::strncmp(path, home, std::strlen(home)) != 0)
        return;
    while (isOn("hangs"))
        ::usleep(10'000);
}

void answer(int fd) {
    answer(pathOf(fd).c_str());
}

} // namespace

extern "C" {

int fdatasync(int fd) {
    answer(fd);
    if (isOn("sync_fails")) {
        errno = EIO;
        return -1;
    }
    return next<int(int)>("fdatasync")(fd);
}

int fsync(int fd) {
    answer(fd);
    return next<int(int)>("fsync")(fd);
}

ssize_t write(int fd, const void *bytes, size_t size) {
    answer(fd);
    return next<ssize_t(int, const void *, size_t)>("write")(fd, bytes, size);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t offset) {
    answer(fd);
    return next<ssize_t(int, void *, size_t, off_t)>("pread")(fd, bytes, size, offset);
}

int stat(const char *path, struct stat *status) noexcept {
    answer(path);
    return next<int(const char *, struct stat *)>("stat")(path, status);
}

int statvfs(const char *path, struct statvfs *status) noexcept {
    answer(path);
    return next<int(const char *, struct statvfs *)>("statvfs")(path, status);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = takesMode(flags) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    answer(path);
    return next<int(const char *, int, ...)>("open")(path, flags, mode);
}

} // extern "C"
