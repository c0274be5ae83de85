// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ipc/clock.h"
#include "ipc/run_config.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/peer_watch.h"
#include "trainer/comm/rank_environment.h"
#include "trainer/data/data_set.h"
#include "trainer/data/loader.h"
#include "trainer/engine/checkpoint.h"
#include "trainer/engine/optimizer.h"
#include "trainer/engine/rank_placement.h"
#include "trainer/models/model.h"
#include "trainer/report/delayed_clock.h"
#include "trainer/report/frame_sender.h"
#include "trainer/report/phase_clock.h"
#include "trainer/report/trace.h"
#include "trainer/report/training_position.h"
#include "trainer/strategies/strategy.h"

namespace lockstep::trainer {

/// Everything one rank trains with, in order of construction. Parts point to earlier ones.
struct Session {
    RunConfig config;
    RankEnvironment env;
    Placement placement;
    FrameSender *frames = nullptr; ///< main's
    torch::Dtype dtype = torch::kFloat32;
    std::string backend = "none";
    std::vector<std::string> devices; ///< of the whole run, in rank order
    std::optional<TestDelay> delay;   ///< of this run, on whichever rank
    DataSet train, test;
    std::string trainSha256;          ///< contentSha256() of train; empty where no checkpoint is read or written
    TrainingPosition position;        ///< of this rank; outlives what notes it
    std::unique_ptr<PeerWatch> peers; ///< absent alone or over NCCL; outlives what waits for other ranks
    std::unique_ptr<Communicator> communicator;
    std::unique_ptr<Trace> trace; ///< outlives everything that records into it
    std::unique_ptr<PhaseClock> clock;
    std::shared_ptr<Model> model;
    std::unique_ptr<CheckpointLock> checkpointLock; ///< rank 0's, with a folder for checkpoints
    std::optional<Checkpoint> resumed;
    std::string resumedFrom;   ///< its file
    bool checkpointed = false; ///< rank 0: the newest checkpoint in its folder is this training's
    std::unique_ptr<Strategy> strategy;
    std::unique_ptr<Optimizer> optimizer;
    std::unique_ptr<Loader> loader;

    [[nodiscard]] c10::Device device() const { return placement.devices.front().device; }
    [[nodiscard]] bool isRank0() const { return env.rank == 0; }
    /// Whether this rank looks after its node's folder of checkpoints.
    [[nodiscard]] bool isFirstOfNode() const { return env.localRank == 0 || isRank0(); }
    /// Parameters and buffers by state_dict name.
    [[nodiscard]] NamedTensors modelState() const;
};

/// Puts the parameters and the optimizer's state of a checkpoint of this training, which rank 0 has, into every rank; all must call it. `occasion`
/// distinguishes one call from another.
[[nodiscard]] Result<void> restoreFrom(Session &session, const std::string &file, const std::string &occasion);

/// Checks outputs, reads data, finds the other ranks and checks that they train the same, locks the folder of checkpoints, builds
/// model, strategy and loader, restores a checkpoint. `env` and `placement` come from main, which has confined the process already.
[[nodiscard]] Result<std::unique_ptr<Session>> openSession(RunConfig config, RankEnvironment env, Placement placement,
                                                           FrameSender &frames);

} // namespace lockstep::trainer
