// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ipc/run_folder.h"
#include "trainer/engine/checkpoint.h"
#include "trainer/engine/rank_session.h"
#include "trainer/report/epoch_totals.h"

namespace lockstep::trainer {

/// How far this rank's training is.
struct RunProgress {
    std::vector<EpochSummary> epochs;       ///< whole ones
    EpochTotals unfinished;                 ///< of the epoch that a stop or a checkpoint interrupted
    EpochTotals total;                      ///< of the run's whole epochs
    std::int64_t step = 0, stepInEpoch = 0; ///< steps done: since the run's first, and of the epoch under way
    bool untested = false;                  ///< Checkpoint's
};

/// Writes a run's checkpoints and its final parameters, and reads how far a resumed run was. Used from the training thread.
class RunSaver {
public:
    explicit RunSaver(Session &session);

    /// How far the checkpoint is that the session resumes from; nothing done without one.
    [[nodiscard]] RunProgress resume();
    /// Which epochs before this run were made with other settings, in words; empty: none were.
    [[nodiscard]] std::string madeOtherwise() const;
    /// Every rank must call it; rank 0 writes. Where a parameter is not finite, an alert says so and the last good checkpoint stays.
    [[nodiscard]] Result<void> save(const RunProgress &progress, int epochsDone);
    /// Writes --save-final: a safetensors file, or a folder that Hugging Face's libraries load.
    [[nodiscard]] Result<void> saveFinal();
    /// After a rollback to rank 0's checkpoint `file`, of which another node's folder has got a copy.
    void keepCopy(const std::string &file);
    /// This training's newest checkpoint, which rank 0 knows; empty: none yet.
    [[nodiscard]] std::string newest() const { return m_checkpoints.newestOwn(); }

private:
    [[nodiscard]] Result<bool> write(Checkpoint checkpoint, const RunProgress &progress, int epochsDone);
    void setOthersAside(bool saved);

    Session &m_session;
    CheckpointFolder m_checkpoints;
    std::string m_training;             ///< Checkpoint::training, rank 0's on all ranks
    std::vector<EarlierPart> m_earlier; ///< Checkpoint::earlier
    bool m_isFirst = false;             ///< this training has saved nothing yet, in this run or an earlier one
};

} // namespace lockstep::trainer
