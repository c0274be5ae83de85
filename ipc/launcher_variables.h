// SPDX-License-Identifier: MIT
#pragma once

namespace lockstep {

/// The names that one launcher of ranks gives to the same four numbers in their environment.
struct LauncherVariables {
    const char *launcher, *rank, *localRank, *worldSize, *localWorldSize;
};
/// A process in whose environment both rank and worldSize of one of these are is a rank; the first such counts.
inline constexpr LauncherVariables launcherVariables[] = {
    {"torchrun's variables", "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"Slurm", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE"},
};

} // namespace lockstep
