// SPDX-License-Identifier: MIT
#include "trainer/agent/ranks/run_cgroup.h"

#include <fcntl.h>
#include <mntent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <utility>

namespace lockstep::agent {

namespace {
constexpr int mostTries = 100;
constexpr useconds_t betweenTriesUs = 10'000;

/// Where the cgroup v2 tree is mounted; empty: nowhere.
std::string mountOfTree() {
    const std::unique_ptr<FILE, int (*)(FILE *)> mounts(::setmntent("/proc/self/mounts", "re"), &::endmntent);
    while (const mntent *mount = mounts ? ::getmntent(mounts.get()) : nullptr)
        if (std::string(mount->mnt_type) == "cgroup2")
            return mount->mnt_dir;
    return {};
}

/// This process's own group in that tree: "/user.slice/…".
std::string ownGroup() {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);)
        if (line.starts_with("0::"))
            return line.substr(3);
    return {};
}
} // namespace

std::optional<RunCgroup> RunCgroup::make(const std::string &name) {
    const std::string tree = mountOfTree(), own = ownGroup();
    if (tree.empty() || own.empty())
        return std::nullopt;
    const std::string path = tree + (own == "/" ? "" : own) + "/" + name;
    if (::mkdir(path.c_str(), 0755) != 0)
        return std::nullopt;
    auto group = open(path);
    if (!group)
        ::rmdir(path.c_str());
    return group;
}

std::optional<RunCgroup> RunCgroup::open(const std::string &path) {
    if (path.empty())
        return std::nullopt;
    RunCgroup group;
    group.m_path = path;
    group.m_procs = Fd(::open((group.m_path + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    group.m_kill = Fd(::open((group.m_path + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC)); // since Linux 5.14
    if (group.m_procs.valid() && group.m_kill.valid())
        return group;
    return std::nullopt;
}

void RunCgroup::kill() const {
    (void)!::write(m_kill.get(), "1", 1);
}

void RunCgroup::remove() const {
    for (int i = 0; i < mostTries && ::rmdir(m_path.c_str()) != 0 && errno == EBUSY; ++i)
        ::usleep(betweenTriesUs);
}

} // namespace lockstep::agent
