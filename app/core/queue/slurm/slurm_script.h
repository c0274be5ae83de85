// SPDX-License-Identifier: MIT
#pragma once
// Writes a Slurm batch script for runs: one job, or an array with one task per run. Each task starts one lockstep-agent
// per node by srun, agent 0 on the job's first node. Run folders are under LOCKSTEP_HOME, which all nodes must share.
// Pure functions.
#include <string>
#include <vector>

#include "experiment/experiment.h"

namespace lockstep::core {

/// Where the job runs on the cluster. Empty: the cluster's default.
struct SlurmPlace {
    std::string partition, account, qos, constraint, time; ///< time as for sbatch: 30, 1:00:00, 2-12
    std::string gres;                                      ///< per node; empty: gpu:N for runs on GPUs
    std::string
        interface; ///< of every node, for rendezvous, gradients and the agents' links; empty: found inside the job
    int nodes = 1;
    std::vector<int> ranksOfNodes;        ///< of each node; empty: evenly if possible, else as Slurm lays them out
    int atOnce = 0;                       ///< array tasks that may run at the same time; 0: no limit
    std::vector<std::string> extra;       ///< further options, word by word: --exclusive, --mem=4G
    std::string agent = "lockstep-agent"; ///< its path on the nodes
    std::string home;                     ///< LOCKSTEP_HOME of the job; empty: dataHome()
};

/// One run in the script.
struct SlurmTask {
    PlannedRun planned;
    std::string run; ///< run id of the first attempt
    std::string experiment, recipe;
};

/// A task for every queued entry, in the order of the queue, with the entry's run id or a new one.
[[nodiscard]] std::vector<SlurmTask> slurmTasks(const Experiment &experiment);
/// The same for runs without an experiment.
[[nodiscard]] std::vector<SlurmTask> slurmTasks(const std::vector<PlannedRun> &runs);

/// The script. BadArgument: a value that no #SBATCH line can express, shares that do not match a run's ranks, or a text of
/// more than mostJobBytes. If the nodes can't share the ranks evenly: one job of N nodes with one task per rank
/// (--ntasks, --cpus-per-task or --gpus-per-task). Slurm lays the tasks out by its nodes' resources and reports SLURM_TASKS_PER_NODE; each agent,
/// still one per node, starts that many ranks. A heterogeneous job would fix the shares beforehand, but is not allowed
/// in arrays, which a recipe becomes; the arbitrary distribution needs the nodes' names. With given shares
/// (ranksOfNodes), every node must fit the largest.
[[nodiscard]] Result<std::string> slurmScript(const std::vector<SlurmTask> &tasks, const SlurmPlace &place);

/// Where a task's trainer keeps its checkpoint until the run is done, so that a requeued job resumes from it.
[[nodiscard]] std::string slurmCheckpoints(const SlurmPlace &place, std::string_view run);

/// The --comment of an experiment's job.
[[nodiscard]] std::string slurmMark(std::string_view experiment);

/// The digits of a run's id that its first attempt and those after a requeue share. Empty: this is no id.
[[nodiscard]] std::string_view attemptDigits(std::string_view run);

} // namespace lockstep::core
