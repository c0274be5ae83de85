// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <torch/types.h>

#include "ipc/error.h"
#include "ipc/run_config.h"
#include "ipc/run_folder.h"
#include "trainer/engine/optimizer.h"

namespace lockstep::trainer {

/// Everything a run needs to resume and end bit for bit (on CPUs) like an uninterrupted one.
struct Checkpoint {
    RunConfig config;
    int worldSize = 1;
    int epochsDone = 0;           ///< whole epochs
    std::int64_t stepInEpoch = 0; ///< steps done in the next one
    std::string bucketOrder;
    std::string launch; ///< RankEnvironment::launch of the ranks that wrote it
    std::vector<EpochSummary> epochs;
    NamedTensors parameters; ///< by state_dict name, buffers too
    NamedTensors optimizer;
    torch::Tensor progress;   ///< F64 [world, n]: each rank's sums of the unfinished epoch and of the run
    torch::Tensor rng;        ///< U8 [world, n]: state of each rank's CPU generator
    torch::Tensor deviceRng;  ///< the same of the GPU's generator; undefined on CPUs
    torch::Tensor replicaRng; ///< U8 [replicas - 1, n]: of the strategy's further generators; undefined without such
};

/// The folder of a run's checkpoints: sealed safetensors files named by the step they were taken after. It removes only what
/// belongs to this training: its own files, and those before the step that it was resumed from.
class CheckpointFolder {
public:
    explicit CheckpointFolder(std::string path) : m_path(std::move(path)) {}

    /// The training goes on from `file`, which is one of files(): those before it are its own too.
    void resumeFrom(const std::string &file);
    /// Writes the file whole or not at all, then removes all of this training's own but the newest two. Checkpoints of another training, which a new
    /// one finds at its first save, are moved into the subfolder `earlier-N`, where --resume does not look.
    Result<void> save(const Checkpoint &checkpoint, std::int64_t step);
    /// This training's newest one; empty: none yet.
    [[nodiscard]] std::string newestOwn() const { return m_own.empty() ? std::string() : m_own.front(); }
    /// Newest first.
    [[nodiscard]] std::vector<std::string> files() const;
    /// The newest file that is readable and undamaged; absent when there is no file at all. Skipped files are named in
    /// `skipped`.
    [[nodiscard]] Result<std::optional<std::string>> newestGood(std::vector<std::string> &skipped) const;

private:
    [[nodiscard]] Result<void> setOthersAside();
    std::string m_path;
    std::vector<std::string> m_own; ///< newest first
    bool m_saved = false;
};

/// The first tensor of the parameters, else of the optimizer's state, that holds NaN or an infinity; empty if none does.
[[nodiscard]] std::string notFiniteIn(const Checkpoint &checkpoint);

[[nodiscard]] Result<Checkpoint> readCheckpoint(const std::string &file);

/// Whether a run of `config` may resume from it; names the first differing option that would change the training.
[[nodiscard]] Result<void> fits(const Checkpoint &checkpoint, const RunConfig &config, int worldSize);

/// Copies tensors by name into a model's; the error names tensors that are missing, unknown or of another shape.
[[nodiscard]] Result<void> copyInto(const NamedTensors &model, const NamedTensors &from, const std::string &file);

} // namespace lockstep::trainer
