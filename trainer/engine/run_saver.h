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
};

/// Writes a run's checkpoints and its final parameters, and reads how far a resumed run was. Used from the training thread.
class RunSaver {
public:
    explicit RunSaver(Session &session);

    /// How far the checkpoint is that the session resumes from; nothing done without one.
    [[nodiscard]] RunProgress resume();
    /// Every rank must call it; rank 0 writes. Where a parameter is not finite, an alert says so and the last good checkpoint stays.
    [[nodiscard]] Result<void> save(const RunProgress &progress, int epochsDone);
    /// Writes --save-final: a safetensors file, or a folder that Hugging Face's libraries load.
    [[nodiscard]] Result<void> saveFinal();
    /// This training's newest checkpoint, which rank 0 knows; empty: none yet.
    [[nodiscard]] std::string newest() const { return m_checkpoints.newestOwn(); }

private:
    Session &m_session;
    CheckpointFolder m_checkpoints;
    std::string m_training; ///< Checkpoint::training
};

} // namespace lockstep::trainer
