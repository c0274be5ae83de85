// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/types.h>

#include "ipc/error.h"
#include "ipc/file_lock.h"
#include "ipc/run_config.h"
#include "ipc/run_folder.h"
#include "trainer/engine/optimizer.h"
#include "trainer/report/epoch_totals.h"

namespace lockstep::trainer {

/// A part of a training that was made with other settings than what followed.
struct EarlierPart {
    int epochsDone = 0;           ///< whole epochs at its end, since the training began
    std::int64_t stepInEpoch = 0; ///< steps done then in the next one
    RunConfig config;
};

inline constexpr std::size_t mostEarlierParts = 1000; ///< of a training
/// Bytes of a line about one in a checkpoint, and of all lines: one of 4,096 devices takes half
/// of the first, 1,000 of few devices half of the second.
inline constexpr std::size_t longestEarlierPart = 64 << 10, mostEarlierBytes = 2 << 20;

/// Where a rank's progress has EpochTotals::leftOut of its unfinished epoch; earlier versions' files lack it.
inline constexpr std::size_t leftOutColumn = 2 * EpochTotals::numbers;

/// Everything a run needs to resume and end bit for bit (on CPUs) like an uninterrupted one.
struct Checkpoint {
    RunConfig config;
    int worldSize = 1;
    int epochsDone = 0;           ///< whole epochs
    std::int64_t stepInEpoch = 0; ///< steps done in the next one
    bool untested = false;        ///< a stop came between the last whole epoch and its test
    std::string bucketOrder;
    std::string launch;   ///< RankEnvironment::launch of the ranks that wrote it
    std::string training; ///< the same in all checkpoints of a training and of what goes on from them
    std::string data;     ///< contentSha256() of the training set; empty: unknown, an earlier version wrote the file
    std::int64_t savedUs = 0;         ///< CLOCK_REALTIME; 0: unknown, an earlier version wrote the file
    std::vector<EarlierPart> earlier; ///< oldest first; what follows the last one was made with `config`
    std::vector<EpochSummary> epochs;
    NamedTensors parameters; ///< by state_dict name, buffers too
    NamedTensors optimizer;
    torch::Tensor progress;  ///< F64 [world, n]: each rank's sums of its unfinished epoch and of the run; leftOutColumn
    torch::Tensor rng;       ///< U8 [world, n]: state of each rank's CPU generator
    torch::Tensor deviceRng; ///< the same of the GPU's generator; undefined on CPUs
    torch::Tensor replicaRng; ///< U8 [replicas - 1, n]: of the strategy's further generators; undefined without such
};

/// A good checkpoint in a folder.
struct FoundCheckpoint {
    std::string file, training; ///< its path; Checkpoint::training
    std::int64_t savedUs = 0;   ///< Checkpoint::savedUs
};

/// Held while a training may write checkpoints into a folder, so that no other one does. Its file goes with it.
class CheckpointLock {
public:
    /// Waits so long for a process that still holds it. The error names the folder and the way out.
    [[nodiscard]] static Result<std::unique_ptr<CheckpointLock>> take(const std::string &folder,
                                                                      std::chrono::milliseconds patience);
    ~CheckpointLock();
    CheckpointLock(const CheckpointLock &) = delete;
    CheckpointLock &operator=(const CheckpointLock &) = delete;

private:
    CheckpointLock(std::string path, FileLock lock) : m_path(std::move(path)), m_lock(std::move(lock)) {}
    std::string m_path;
    FileLock m_lock;
};

/// The folder of a run's checkpoints: sealed safetensors files named by the step they were taken after. It removes only what
/// belongs to this training: its own files, and those of the training that it goes on from.
class CheckpointFolder {
public:
    explicit CheckpointFolder(std::string path) : m_path(std::move(path)) {}

    /// The training goes on from `file`, which is one of files(): those before it are its own too, if they are of its training.
    void resumeFrom(const std::string &file, const std::string &training);
    /// Where another rank's checkpoint is found and kept here: nodes may have their folders in different places.
    [[nodiscard]] std::string pathHere(const std::string &file) const;
    /// The checkpoint of that name, which rank 0 has written on another node and this folder has too, is the newest own
    /// one; prune() follows.
    void keepCopy(const std::string &file);
    /// Removes all of this training's own but the newest two.
    void prune();
    /// Moves what is not of `training` into the subfolder `earlier-N`, unless another training holds the folder. For
    /// nodes that write no checkpoints, once rank 0 has written its first one.
    [[nodiscard]] Result<void> setOthersAside(const std::string &training);
    /// Writes the file whole or not at all, then removes all of this training's own but the newest two. The first save removes what
    /// processes that were killed left unfinished. Checkpoints of another training, which a new one finds at its first save, are
    /// moved into the subfolder `earlier-N`, where --resume does not look.
    Result<void> save(const Checkpoint &checkpoint, std::int64_t step);
    /// This training's newest one; empty: none yet.
    [[nodiscard]] std::string newestOwn() const { return m_own.empty() ? std::string() : m_own.front(); }
    /// Newest first.
    [[nodiscard]] std::vector<std::string> files() const;
    /// The newest file that is readable, undamaged and, unless that is empty, of this launch; absent when there is none. It is an
    /// error if all files are damaged, or ten before that one, of which one with several names is read once. Skipped files are named in
    /// `skipped`.
    [[nodiscard]] Result<std::optional<FoundCheckpoint>> newestGood(const std::string &launch,
                                                                    std::vector<std::string> &skipped) const;

private:
    [[nodiscard]] Result<void> moveAside(const std::vector<std::string> &others) const;
    std::string m_path;
    std::vector<std::string> m_own; ///< newest first
    bool m_saved = false;
};

/// The first tensor of the parameters, else of the optimizer's state, that holds NaN or an infinity; empty if none does.
[[nodiscard]] std::string notFiniteIn(const Checkpoint &checkpoint);

[[nodiscard]] Result<Checkpoint> readCheckpoint(const std::string &file);

/// Whether a run of `config`, whose training set has the contentSha256() `data`, may resume from it; names the first difference that
/// would change the training: a setting, or the samples of a step or the learning rate that follow from several.
[[nodiscard]] Result<void> fits(const Checkpoint &checkpoint, const RunConfig &config, int worldSize,
                                const std::string &data);

/// The parts of a checkpoint's training, each made with other settings than the next; the last one than `config`.
[[nodiscard]] std::vector<EarlierPart> earlierParts(const Checkpoint &checkpoint, const RunConfig &config);

/// Which epochs were made with other settings of a step or of the means than `config` has, in words: "epochs 1 to 4
/// were made with loader=batch instead of loader=item"; empty: none were.
[[nodiscard]] std::string madeOtherwise(const std::vector<EarlierPart> &parts, const RunConfig &config);

/// Copies tensors by name into a model's; the error names tensors that are missing, unknown or of another shape.
[[nodiscard]] Result<void> copyInto(const NamedTensors &model, const NamedTensors &from, const std::string &file);

} // namespace lockstep::trainer
