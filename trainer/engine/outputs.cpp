// SPDX-License-Identifier: MIT
#include "trainer/engine/outputs.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "ipc/file_system.h"
#include "ipc/model_facts.h"

namespace lockstep::trainer {

namespace {

/// Why nothing can be put in the place of what is at `path`; empty: it can, or nothing is there.
std::string obstacleAt(const std::string &path, bool asFolder) {
    using enum std::filesystem::file_type;
    std::error_code error;
    const std::filesystem::file_type found = std::filesystem::status(path, error).type();
    if (found == none) // such as a name that is too long
        return error.message();
    if (found == not_found)
        return {};
    if ((found == directory) != asFolder)
        return asFolder ? "it is a file, and the model is saved as a folder" : "it is a folder, and a file is written";
    if (asFolder)
        return ::access(path.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
    return found == regular ? "" : "it is not a regular file";
}

/// `asFolder`: a folder is written there instead of a file, and may be there already.
Result<void> checkOutput(const char *flag, const std::string &path, bool asFolder = false) {
    if (path.empty() || path == "-" || path.starts_with("unix:"))
        return {};
    const auto refusal = [&](const std::string &why) {
        return fail(Error::badArgument(
            "can't write " + path + ": " + why,
            std::string("give a ") + (asFolder ? "folder" : "file") + " in a folder you may write to", flag));
    };
    if (const std::string obstacle = obstacleAt(path, asFolder); !obstacle.empty())
        return refusal(obstacle);
    const std::string name = path.substr(0, path.find_last_not_of('/') + 1);
    const auto parent = std::filesystem::path(name).parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    if (::access(folder.c_str(), W_OK | X_OK) == 0)
        return {};
    return refusal("folder " + folder + ": " + std::strerror(errno));
}

} // namespace

Result<void> checkOutputs(const RunConfig &config) {
    if (auto ok = checkOutput("--summary", config.summary); !ok)
        return ok;
    if (auto ok = checkOutput("--save-final", config.saveFinal, savesFolder(config.model)); !ok)
        return ok;
    if (config.checkpointDir.empty())
        return {};
    const auto made = realFileSystem().makeFolders(config.checkpointDir);
    if (!made || ::access(config.checkpointDir.c_str(), W_OK | X_OK) != 0)
        return fail(Error::badArgument("can't write checkpoints into " + config.checkpointDir +
                                           (made ? std::string(": ") + std::strerror(errno) : ": " + made.error().what),
                                       "give a folder you may write to", "--checkpoint-dir"));
    return {};
}

} // namespace lockstep::trainer
