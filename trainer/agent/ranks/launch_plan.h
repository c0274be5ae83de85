// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ipc/cores.h"
#include "ipc/error.h"
#include "ipc/run_folder.h"
#include "trainer/agent/devices/device_sampler.h"
#include "trainer/agent/devices/nvml.h"

namespace lockstep::agent {

/// A process to start. Its environment is the agent's with these changes.
struct RankPlan {
    int rank = 0, localRank = 0;
    std::vector<std::string> command; ///< program and arguments
    std::vector<std::pair<std::string, std::string>> environment;
    CoreList affinity; ///< empty: the agent's own
};

/// Where the store of rank 0 listens.
struct MasterPlan {
    std::string address = "127.0.0.1";
    int port = 0;              ///< 0: any free one
    bool bindHere = true;      ///< false on the other nodes of a run
    bool passListener = false; ///< rank 0 inherits the listening descriptor (LOCKSTEP_MASTER_LISTEN_FD)
};

/// This node's part of a run on several nodes.
struct NodesPlan {
    int count = 1, node = 0;
    std::vector<int> processes;      ///< per node, as configured; empty: each node reports its number when it joins
    std::vector<std::string> titles; ///< names of the other nodes, for messages
    std::string listenAddress;       ///< node 0
    int listenPort = 0;
    std::string announce; ///< node 0: the host name that the others are given; empty: listenAddress
    std::string join;     ///< node > 0: "HOST:PORT" of node 0; empty: read from join.json in a shared run folder
    std::string token;    ///< empty: node 0 makes one; the others read it from join.json
    std::string
        interfacesFound; ///< node 0: a sentence that says how the network between the nodes was found; empty: it was given
    std::chrono::milliseconds joinLimit{60'000}, lease{600'000};
};

/// Everything that is decided before a run touches the disk.
struct LaunchPlan {
    RunRecord record;
    std::vector<RankPlan> ranks;
    std::vector<DevicePlan> devices;
    MasterPlan master;
    NodesPlan nodes;
    int worldSize = 1;
    int maxRestarts = 0;
    bool echoConsole = false; ///< the ranks' lines also go to stdout
    bool attended = false;    ///< the run trains nothing and keeps nothing (LaunchRequest::attended)
    /// The one process is a program of the user's that may start ranks by itself (torchrun, mp.spawn): whoever reports to
    /// the run is one of its ranks. It gets no variables of ranks, with which a script would train as DDP.
    bool adoptsRanks = false;
    std::string python; ///< scripts: a phrase that names the chosen Python and where it was found
};

/// The options of `lockstep-agent run`.
struct CommandOptions {
    std::vector<std::string> command;
    int processes = 1, nodes = 1, nodeRank = 0;
    bool ranksGiven = false; ///< the number of processes or nodes was named: the command gets its rank
    bool automatic = false;  ///< Python scripts are followed unchanged (resources/python/lockstep/auto.py)
    std::string masterAddress;
    int masterPort = 0;
    int maxRestarts = 0;
    int coresPerRank = 0; ///< > 0: rank K is pinned to CPU device K of that size
    std::string name;
    std::string experiment, recipe; ///< for the record: what the run belongs to
    int repeat = 1;
    std::string runId;     ///< the same on all nodes makes one run of them; only then do the following members matter
    std::string join;      ///< HOST:PORT where agent 0 listens
    std::string tokenFile; ///< LOCKSTEP_JOIN_TOKEN overrides it
    std::string interface; ///< for rendezvous, gradients and link
    double joinLimitS = 60, leaseS = 600;
    [[nodiscard]] bool joins() const { return nodes > 1 && !runId.empty(); }
};

/// The plan of a run of lockstep-trainer by its RunConfig, or of the record's command on the configuration's devices.
/// With several nodes it is the part of node `node`. In an attended run the command may be another mode of
/// lockstep-trainer. Errors: one for each mistake in the configuration or the command, and for each requirement that
/// this machine does not meet.
[[nodiscard]] tl::expected<LaunchPlan, std::vector<Error>> planFromConfig(RunRecord record, const Nvml *nvml,
                                                                          int node = 0, bool attended = false);

/// The plan of a run of any command.
[[nodiscard]] tl::expected<LaunchPlan, std::vector<Error>> planFromCommand(const CommandOptions &options,
                                                                           const Nvml *nvml);

/// How a run is named that nobody named: "DDP on 2 devices".
[[nodiscard]] std::string defaultName(const RunConfig &config);

/// The RunConfig that arguments of lockstep-trainer describe, not validated. Absent if an argument cannot be parsed;
/// the trainer itself reports which.
[[nodiscard]] std::optional<RunConfig> configFromArguments(const std::vector<std::string> &arguments);

} // namespace lockstep::agent
