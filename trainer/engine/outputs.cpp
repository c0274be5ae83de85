// SPDX-License-Identifier: MIT
#include "trainer/engine/outputs.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "ipc/file_system.h"

namespace lockstep::trainer {

namespace {

Result<void> checkFolderOf(const char *flag, const std::string &file) {
    if (file.empty() || file == "-" || file.starts_with("unix:"))
        return {};
    const auto parent = std::filesystem::path(file).parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    if (::access(folder.c_str(), W_OK | X_OK) == 0)
        return {};
    return fail(Error::badArgument("can't write " + file + ": folder " + folder + ": " + std::strerror(errno),
                                   "give a file in a folder you may write to", flag));
}

} // namespace

Result<void> checkOutputs(const RunConfig &config) {
    if (auto ok = checkFolderOf("--summary", config.summary); !ok)
        return ok;
    if (auto ok = checkFolderOf("--save-final", config.saveFinal); !ok)
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
