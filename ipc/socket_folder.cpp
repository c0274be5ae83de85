// SPDX-License-Identifier: MIT
#include "ipc/socket_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "ipc/crc32c.h"
#include "ipc/run_folder.h"

namespace lockstep {
namespace {

bool isOursAlone(const std::string &path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
           (status.st_mode & 077) == 0;
}

bool isFolder(const std::string &path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

constexpr int mostTries = 100; ///< other processes that leave may remove the folder between any two steps

/// Another user may have created the folder first, or made it a link: then it must not be used.
Result<void> makePrivateFolder(const std::string &path) {
    struct stat status {};
    for (int tries = 1;; ++tries) {
        if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
            return fail(Error::system("can't make the socket folder " + path, errno));
        if (::lstat(path.c_str(), &status) == 0)
            break;
        if (errno != ENOENT || tries == mostTries)
            return fail(Error::system("can't use the socket folder " + path, errno));
    }
    if (!S_ISDIR(status.st_mode))
        return fail(Error::failed("the socket folder " + path + " is no folder", "remove it"));
    if (status.st_uid != ::geteuid())
        return fail(Error::failed("the socket folder " + path + " belongs to uid " + std::to_string(status.st_uid),
                                  "remove it, or set XDG_RUNTIME_DIR to a folder of yours"));
    if ((status.st_mode & 077) != 0)
        return fail(Error::failed("the socket folder " + path + " is open to others",
                                  "make it yours alone: chmod 700 " + path));
    return {};
}

/// Possible folders, the best first.
std::vector<std::string> places() {
    std::string name = "lockstep";
    if (!environmentValue("LOCKSTEP_HOME").empty())
        name += "-" + crcText(crc32c(dataHome()));
    // A socket's path has at most 107 bytes, so a long runtime folder cannot be used.
    constexpr std::size_t longestFolder = 60;
    const std::string runtime = environmentValue("XDG_RUNTIME_DIR");
    std::vector<std::string> out;
    if (runtime.starts_with('/') && runtime.size() + 1 + name.size() <= longestFolder && isFolder(runtime))
        out.push_back(runtime + "/" + name);
    out.push_back("/tmp/lockstep-" + std::to_string(::geteuid()) + name.substr(8));
    return out;
}

Fd openFolder(const std::string &path) {
    return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// Whether the path still leads to the open folder.
bool isStill(const Fd &fd, const std::string &path) {
    struct stat there {
    }, opened{};
    return ::fstat(fd.get(), &opened) == 0 && ::lstat(path.c_str(), &there) == 0 && there.st_ino == opened.st_ino &&
           there.st_dev == opened.st_dev;
}

} // namespace

Result<std::string> socketFolder() {
    const std::vector<std::string> all = places();
    if (all.size() > 1 && makePrivateFolder(all.front()))
        return all.front();
    if (auto made = makePrivateFolder(all.back()); !made)
        return fail(std::move(made.error()));
    return all.back();
}

std::string socketFolderOf(const std::string &socket) {
    std::vector<std::string> all = places();
    const std::string best = all.front();
    std::erase_if(all, [](const std::string &path) { return !isOursAlone(path); });
    const auto holder = std::find_if(all.begin(), all.end(), [&](const std::string &path) {
        return ::access((path + "/" + socket).c_str(), F_OK) == 0;
    });
    if (holder != all.end())
        return *holder;
    return all.empty() ? best : all.front();
}

Result<Fd> holdSocketFolder() {
    // Limited by time, not by tries: while others leave all the time, about nine of ten tries fail.
    const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    int refused = 0;
    while (std::chrono::steady_clock::now() < due) {
        const auto path = socketFolder();
        if (!path && ++refused == mostTries)
            return fail(path.error());
        Fd fd = path ? openFolder(*path) : Fd();
        if (fd.valid() && ::flock(fd.get(), LOCK_SH) == 0 && isStill(fd, *path))
            return fd;
    }
    return fail(Error::failed("the folder for sockets is removed again and again", "try again"));
}

void leaveSocketFolder() {
    // Another process that leaves holds the folder for a moment, one that binds for longer.
    constexpr int betweenUs = 5000;
    for (const std::string &path : places()) {
        const Fd fd = openFolder(path);
        bool ours = false;
        for (int tries = 0; fd.valid() && !ours && tries < mostTries; ++tries) {
            ours = ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
            if (!ours)
                ::usleep(betweenUs);
        }
        if (ours && isStill(fd, path))
            ::rmdir(path.c_str()); // fails unless it is empty
    }
}

} // namespace lockstep
