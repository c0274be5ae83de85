// SPDX-License-Identifier: MIT
#include "trainer/agent/log/slurm_origin.h"

#include <cstdlib>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "ipc/documents.h"
#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "trainer/agent/devices/machine.h"

namespace lockstep::agent {

void writeSlurmOrigin(const RunFolder &folder) {
    const char *job = std::getenv("SLURM_JOB_ID"), *node = std::getenv("SLURMD_NODENAME");
    if (!job || !node)
        return;
    const char *restarts = std::getenv("SLURM_RESTART_COUNT"); // unset in a job that was not requeued
    std::error_code ignored;
    const nlohmann::ordered_json origin = {{"host", std::string("slurm:") + job + "/" + node},
                                           {"agent", std::filesystem::read_symlink("/proc/self/exe", ignored).string()},
                                           {"machine", hostName()},
                                           {"shared", true},
                                           {"restarts", std::atoi(restarts ? restarts : "0")}};
    if (const auto written = realFileSystem().writeAtomically(folder.origin(), documents::line(origin) + "\n");
        !written)
        logWarning("viewers outside of the job can't follow live: " + written.error().message());
}

} // namespace lockstep::agent
