// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "ipc/error.h"

namespace lockstep::trainer {

/// This process's rank and where the ranks meet. No torch here.
struct RankEnvironment {
    int rank = 0, localRank = 0, worldSize = 1, localWorldSize = 1;
    bool launched = false;     ///< by a launcher, whose variables are set (torchrun, Slurm or Open MPI)
    std::string launcher;      ///< "torchrun's variables", "Slurm", "Open MPI"; empty when not launched
    std::string masterAddress; ///< empty: none given
    int masterPort = 0;
    std::string storeFile;       ///< --init-method file://
    bool storeRuns = false;      ///< TORCHELASTIC_USE_AGENT_STORE: rank 0 too is a client of the store
    std::optional<int> listenFd; ///< LOCKSTEP_MASTER_LISTEN_FD: rank 0 serves the store on this socket
    int attempt = 0;             ///< TORCHELASTIC_RESTART_COUNT: keys of an earlier attempt must not answer
};

/// Value of an environment variable, or nothing.
using GetEnv = std::function<std::optional<std::string>(const char *name)>;
[[nodiscard]] GetEnv processEnvironment();

/// Reads RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, else SLURM_*, else OMPI_COMM_WORLD_*.
/// `initMethod` (env://, tcp://H:P, file:///PATH) replaces where the ranks meet. BadArgument names the variable.
[[nodiscard]] Result<RankEnvironment> readRankEnvironment(const std::string &initMethod, const GetEnv &get);

} // namespace lockstep::trainer
