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

/// One process to start. The environment is the agent's own with these changes.
struct RankPlan {
    int rank = 0, localRank = 0;
    std::vector<std::string> command; ///< program and arguments
    std::vector<std::pair<std::string, std::string>> environment;
    CoreList affinity; ///< empty: as the agent's
};

/// Where rank 0's store listens.
struct MasterPlan {
    std::string address = "127.0.0.1";
    int port = 0;              ///< 0: any free one
    bool bindHere = true;      ///< false on the other nodes of a run
    bool passListener = false; ///< rank 0 takes the listening descriptor over (LOCKSTEP_MASTER_LISTEN_FD)
};

/// This node's part in a run on several.
struct NodesPlan {
    int count = 1, node = 0;
    std::vector<int> processes;      ///< of each node, as configured; empty: each says its own when it joins
    std::vector<std::string> titles; ///< of the other nodes, for sentences
    std::string listenAddress;       ///< node 0
    int listenPort = 0;
    std::string announce; ///< node 0: the host that the others are told; empty: listenAddress
    std::string join;     ///< node > 0: "HOST:PORT"; empty: as join.json in the run's folder says (a shared one)
    std::string token;    ///< empty: node 0 makes one, others read it in join.json
    std::string
        interfacesFound; ///< node 0: how the network between the nodes was found, for people; empty: it was named
    std::chrono::milliseconds joinLimit{60'000}, lease{600'000};
};

/// All that is decided before a run touches the disk.
struct LaunchPlan {
    RunRecord record;
    std::vector<RankPlan> ranks;
    std::vector<DevicePlan> devices;
    MasterPlan master;
    NodesPlan nodes;
    int worldSize = 1;
    int maxRestarts = 0;
    bool echoConsole = false; ///< ranks' lines also go to stdout
    bool attended = false;    ///< it trains nothing and keeps nothing (LaunchRequest::attended)
    std::string python;       ///< of a script: the Python that was chosen and where it was found, for people
};

/// What `lockstep-agent run` was told.
struct CommandOptions {
    std::vector<std::string> command;
    int processes = 1, nodes = 1, nodeRank = 0;
    std::string masterAddress;
    int masterPort = 0;
    int maxRestarts = 0;
    int coresPerRank = 0; ///< > 0: rank K is pinned to CPU device K of that size
    std::string name;
    std::string experiment, recipe; ///< for the record: what the run is of
    int repeat = 1;
    std::string runId;     ///< of the run; on several nodes the same on all, and then they are one run:
    std::string join;      ///< HOST:PORT: where agent 0 listens, or where to find it
    std::string tokenFile; ///< LOCKSTEP_JOIN_TOKEN goes before
    std::string interface; ///< of rendezvous and link
    double joinLimitS = 60, leaseS = 600;
    [[nodiscard]] bool joins() const { return nodes > 1 && !runId.empty(); }
};

/// A run of lockstep-trainer by its RunConfig, or of the record's command on the config's devices; of several nodes the
/// part of node `node`. Of an attended run the command may be another mode of lockstep-trainer. Every mistake of the config, of the command and of this machine is one error.
[[nodiscard]] tl::expected<LaunchPlan, std::vector<Error>> planFromConfig(RunRecord record, const Nvml *nvml,
                                                                          int node = 0, bool attended = false);

/// A run of anybody's command.
[[nodiscard]] tl::expected<LaunchPlan, std::vector<Error>> planFromCommand(const CommandOptions &options,
                                                                           const Nvml *nvml);

/// The RunConfig that lockstep-trainer's arguments mean, not yet validated; nothing when one can't be read (the trainer
/// says best which).
[[nodiscard]] std::optional<RunConfig> configFromArguments(const std::vector<std::string> &arguments);

} // namespace lockstep::agent
