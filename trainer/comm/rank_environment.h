// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "ipc/error.h"

namespace lockstep::trainer {

/// This process's rank, and where the ranks meet. Does not use torch.
struct RankEnvironment {
    int rank = 0, localRank = 0, worldSize = 1, localWorldSize = 1;
    bool launched = false;     ///< started by a launcher, which has set its variables (torchrun, Slurm or Open MPI)
    std::string launcher;      ///< "torchrun's variables", "Slurm", "Open MPI"; empty when not launched
    std::string masterAddress; ///< empty: not given
    int masterPort = 0;
    std::string storeFile;       ///< --init-method file://
    bool storeRuns = false;      ///< TORCHELASTIC_USE_AGENT_STORE: the store already runs, so rank 0 is a client too
    std::optional<int> listenFd; ///< LOCKSTEP_MASTER_LISTEN_FD: rank 0 serves the store on this socket
    /// How often the ranks were started before: TORCHELASTIC_RESTART_COUNT, with an agent SLURM_RESTART_COUNT too.
    int attempt = 0;
    int maxRestarts = 0; ///< TORCHELASTIC_MAX_RESTARTS: how often the launcher starts them again after a failure
    /// The digits at the end of LOCKSTEP_RUN, or TORCHELASTIC_RUN_ID: the same for all attempts of one launch, and only
    /// for them; empty: unknown.
    std::string launch;
};

/// The value of an environment variable; absent if it is unset.
using GetEnv = std::function<std::optional<std::string>(const char *name)>;
[[nodiscard]] GetEnv processEnvironment();

/// Reads RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, else SLURM_*, else
/// OMPI_COMM_WORLD_*. `initMethod` (env://, tcp://H:P, file:///PATH) overrides where the ranks meet. BadArgument names
/// the variable.
[[nodiscard]] Result<RankEnvironment> readRankEnvironment(const std::string &initMethod, const GetEnv &get);

} // namespace lockstep::trainer
