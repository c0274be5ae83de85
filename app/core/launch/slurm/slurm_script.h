#pragma once
// A Slurm batch script for runs: one job, or an array with a task a run. Each task starts one lockstep-agent a node by srun,
// agent 0 on the job's first node; run folders lie under LOCKSTEP_HOME, which all nodes must share. Pure functions.
#include <string>
#include <vector>

#include "launch/experiment.h"

namespace lockstep::core {

/// What no recipe says of the cluster. Empty: the cluster's own default.
struct SlurmPlace {
    std::string partition, account, qos, constraint, time; ///< time as sbatch takes it: 30, 1:00:00, 2-12
    std::string gres;                                      ///< of each node; empty: gpu:N for runs on GPUs
    std::string
        interface; ///< of every node for rendezvous, gradients and the agents' link; empty: found inside the job
    int nodes = 1;
    std::vector<int> ranksOfNodes; ///< of each node; empty: evenly, or where that can't be, as Slurm lays them out
    int atOnce = 0;                ///< tasks of an array that may run at the same time; 0: as many as there is room for
    std::vector<std::string> extra;       ///< further options, word by word: --exclusive, --mem=4G
    std::string agent = "lockstep-agent"; ///< its path on the nodes
    std::string home;                     ///< LOCKSTEP_HOME of the job; empty: dataHome()
};

/// One run of the script.
struct SlurmTask {
    PlannedRun planned;
    std::string run; ///< run id of the first attempt
    std::string experiment, recipe;
};

/// A task for every entry that waits, in the order of the queue; run ids as the entries have them, else new ones.
[[nodiscard]] std::vector<SlurmTask> slurmTasks(const Experiment &experiment);
/// The same of runs without an experiment.
[[nodiscard]] std::vector<SlurmTask> slurmTasks(const std::vector<PlannedRun> &runs);

/// The script. BadArgument: a value that no #SBATCH line can hold, ranks of nodes that are not those of a run.
/// How ranks that nodes can't share evenly are placed: one job of N nodes and as many tasks as ranks (--ntasks, --cpus-per-task
/// or --gpus-per-task of a rank), which Slurm lays out by what its nodes have and tells in SLURM_TASKS_PER_NODE; each agent, still
/// one a node, starts that many. A heterogeneous job would fix the nodes' shares beforehand, but is refused in arrays, which a
/// recipe is; the arbitrary distribution wants the nodes' names. Shares that are given (ranksOfNodes) ask of every node the largest.
[[nodiscard]] Result<std::string> slurmScript(const std::vector<SlurmTask> &tasks, const SlurmPlace &place);

/// Where a task's trainer keeps its checkpoint until the run is done, so that a requeued job goes on from it.
[[nodiscard]] std::string slurmCheckpoints(const SlurmPlace &place, std::string_view run);

/// Whether `run` is the run of that first attempt or one after a requeue: they share the digits after the dash.
[[nodiscard]] bool isAttemptOf(std::string_view run, std::string_view first);

} // namespace lockstep::core
