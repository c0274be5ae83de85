// SPDX-License-Identifier: MIT
#include "ipc/safe_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

namespace lockstep {

namespace {

enum class Place { OnTheWay, Last };

/// In a folder with the sticky bit others can only add what is theirs. On the way that is seen by its owner.
bool isWritableByAll(const struct stat &status, Place place) {
    const bool sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
    return !S_ISLNK(status.st_mode) && (status.st_mode & S_IWOTH) != 0 && (place == Place::Last || !sticky);
}

/// Who can change the programs in a folder.
struct Owners {
    std::set<uid_t> users{0, ::geteuid()};
    bool all = false; ///< every user: some file systems show all files so (a disk of Windows in WSL)

    bool add(const std::filesystem::path &folder) {
        struct stat status {};
        if (::stat(folder.c_str(), &status) != 0)
            return false;
        users.insert(status.st_uid);
        all = all || isWritableByAll(status, Place::OnTheWay);
        return true;
    }
};

} // namespace

bool isAsSafeAs(const std::filesystem::path &folder, const std::filesystem::path &path) {
    const auto parting = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).second;
    std::filesystem::path at;
    for (auto part = path.begin(); part != parting; ++part)
        at /= *part;
    Owners owners;
    if (!owners.add(folder) || !owners.add(at))
        return false;
    for (auto part = parting; part != path.end(); ++part) {
        at /= *part;
        struct stat status {};
        if (::lstat(at.c_str(), &status) != 0 || !owners.users.contains(status.st_uid))
            return false;
        const Place place = std::next(part) == path.end() ? Place::Last : Place::OnTheWay;
        if (!owners.all && isWritableByAll(status, place))
            return false;
    }
    return true;
}

} // namespace lockstep
