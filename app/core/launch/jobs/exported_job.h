#pragma once
// A run as other launchers take it: text for torchrun and Kubernetes (for Slurm: launch/slurm/slurm_script.h). Pure
// functions of their arguments; every value is quoted for the language that it stands in.
#include <string>

#include "launch/jobs/job_shape.h"

namespace lockstep::core {

/// What no recipe says of where a job runs.
struct JobPlace {
    int nodes = 1;
    std::string masterAddress; ///< torchrun: of node 0; needed for several nodes
    int masterPort = 29500;
    std::string frames; ///< what the ranks get as LOCKSTEP_FRAMES: tcp://HOST:PORT, a folder; empty: nothing
    // Kubernetes:
    std::string name;      ///< of the job; empty: made of the run's
    std::string image;     ///< with lockstep-trainer and torchrun in PATH; needed
    std::string nameSpace; ///< empty: the context's own
    std::string claim;     ///< PersistentVolumeClaim mounted at `mount`; empty: none
    std::string mount = "/shared";
    std::string framesSecret; ///< Secret whose key "token" becomes LOCKSTEP_FRAMES_TOKEN; empty: none
};

/// A torchrun line a node, each under a comment that says which: a script for bash, of which each node runs its line. A
/// method of one process is one plain line.
[[nodiscard]] Result<std::string> torchrunLines(const PlannedRun &run, const JobPlace &place);

/// A headless Service and an Indexed Job with a pod a node, as one YAML text; in each pod torchrun, node 0 reached by its
/// pod's name.
[[nodiscard]] Result<std::string> kubernetesJob(const PlannedRun &run, const JobPlace &place);

/// The same as a PyTorchJob of Kubeflow's training operator (kubeflow.org/v1), which gives torchrun its numbers.
[[nodiscard]] Result<std::string> pyTorchJob(const PlannedRun &run, const JobPlace &place);

/// One scalar of YAML, double-quoted: never a number, a boolean, null or the end of anything.
[[nodiscard]] std::string yamlText(std::string_view utf8);

} // namespace lockstep::core
