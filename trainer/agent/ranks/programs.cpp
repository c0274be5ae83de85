// SPDX-License-Identifier: MIT
#include "trainer/agent/ranks/programs.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace lockstep::agent {

namespace {
bool isExecutable(const std::string &path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}
} // namespace

Result<std::string> findProgram(const std::string &name) {
    if (name.find('/') != std::string::npos) {
        if (isExecutable(name))
            return name;
        return fail(
            Error::badArgument("'" + name + "' is not a program that can be run", "check the path and its x bit"));
    }
    const char *path = ::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (const std::string candidate = (folder.empty() ? "." : folder) + "/" + name; isExecutable(candidate))
            return candidate;
    return fail(Error::badArgument("there is no program '" + name + "' in PATH", "install it or give its path"));
}

Result<std::string> findTrainer() {
    if (const char *named = ::getenv("LOCKSTEP_TRAINER"); named && *named) {
        if (isExecutable(named))
            return std::string(named);
        return fail(Error::badArgument("LOCKSTEP_TRAINER names '" + std::string(named) + "', which can't be run",
                                       "unset it or name the trainer"));
    }
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::string beside = (self.parent_path() / "lockstep-trainer").string();
    if (!error && isExecutable(beside))
        return beside;
    if (auto inPath = findProgram("lockstep-trainer"))
        return inPath;
    return fail(Error::badArgument("lockstep-trainer is neither beside lockstep-agent (" + self.parent_path().string() +
                                       ") nor in PATH",
                                   "build it with ./run, or name it in LOCKSTEP_TRAINER"));
}

} // namespace lockstep::agent
