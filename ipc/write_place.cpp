// SPDX-License-Identifier: MIT
#include "ipc/write_place.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "ipc/run_folder.h"

namespace lockstep {
namespace {

constexpr int folderFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;

/// The length of the part of `folder` whose links are followed: all of it, or the folder of all runs or experiments.
std::size_t followedPartOf(const std::string &folder) {
    for (const std::string &root : {runsFolder(), experimentsFolder()})
        if (folder.starts_with(root + "/"))
            return root.size();
    return folder.size();
}

bool isLink(const Fd &folder, const std::string &name) {
    struct stat status {};
    return ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

Error cantOpen(const std::string &folder, int error) {
    errno = error;
    return Error::system("can't open the folder " + folder, error);
}

Error linkInPlace(const std::string &folder) {
    errno = ELOOP;
    return Error::failed(folder + " is a link, and nothing is written through links there",
                         "put the folder itself in its place");
}

} // namespace

Result<Fd> openFolderToWrite(const std::string &folder) {
    std::size_t end = followedPartOf(folder);
    Fd fd(::open(folder.substr(0, end).c_str(), folderFlags));
    if (!fd.valid())
        return fail(cantOpen(folder, errno));
    while (end < folder.size()) {
        const std::size_t from = end + 1;
        end = std::min(folder.find('/', from), folder.size());
        const std::string name = folder.substr(from, end - from);
        if (name.empty())
            continue;
        Fd next(::openat(fd.get(), name.c_str(), folderFlags | O_NOFOLLOW));
        if (!next.valid()) {
            const int error = errno;
            return fail(isLink(fd, name) ? linkInPlace(folder.substr(0, end)) : cantOpen(folder, error));
        }
        fd = std::move(next);
    }
    return fd;
}

Result<WritePlace> writePlace(const std::string &path) {
    const auto slash = path.rfind('/');
    Result<Fd> folder = openFolderToWrite(slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash));
    if (!folder)
        return fail(folder.error());
    return WritePlace{std::move(*folder), slash == std::string::npos ? path : path.substr(slash + 1)};
}

} // namespace lockstep
