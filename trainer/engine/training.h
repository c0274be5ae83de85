// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>

#include "ipc/metric_totals.h"
#include "ipc/run_folder.h"
#include "trainer/engine/comm_reports.h"
#include "trainer/engine/divergence.h"
#include "trainer/engine/evaluation.h"
#include "trainer/engine/rank_session.h"
#include "trainer/engine/run_saver.h"
#include "trainer/engine/straggler_watch.h"
#include "trainer/engine/trace_writer.h"
#include "trainer/engine/uneven_shards.h"
#include "trainer/report/step_recorder.h"
#include "trainer/report/tcp_traffic.h"

namespace lockstep::trainer {

enum class Outcome { Done, Stopped };

/// The training of one rank: epochs, evaluation, checkpoints, and the frames that report them.
class Training {
public:
    explicit Training(Session &session);

    /// Throws what torch throws.
    [[nodiscard]] Result<Outcome> run();
    /// After run(): the contents of --summary. Every rank must call it; rank 0's is complete.
    [[nodiscard]] Summary summary();
    /// After run(), on rank 0: writes the parameters to --save-final, if that is given.
    [[nodiscard]] Result<void> saveFinal();

private:
    void sendInit();
    void warn(const AlertFrame &alert);
    void logStages() const;
    void sendState(RunState state, std::optional<int> epoch = {}, std::string detail = {});
    [[nodiscard]] Result<Outcome> trainEpochs();
    [[nodiscard]] Result<bool> trainOrGoBack(int epoch);
    /// Trains one epoch from `firstStep` on. True: stopped before its end.
    [[nodiscard]] bool trainEpoch(int epoch, std::int64_t firstStep);
    /// One step; returns whether some rank wants to stop.
    [[nodiscard]] bool trainStep(Batch batch);
    [[nodiscard]] std::vector<StepMetric> measure();
    /// Adds what this rank has sent and received since the last time.
    void addTraffic(const std::function<void(const char *name, double value)> &add);
    void reportEpoch(int epoch, const EpochTotals &totals);
    void evaluate(int epoch);
    void writeTrace();
    void compareRanks(const std::string &sha256);
    [[nodiscard]] Result<void> saveCheckpoint(int epochsDone);

    Session &m_session;
    RunSaver m_saver;
    DivergenceWatch m_divergence;
    StepRecorder m_recorder;
    Evaluator m_evaluator;
    StragglerWatch m_stragglers;
    UnevenShards m_shards;
    CommReports m_comm;
    RunProgress m_progress;
    std::optional<EvalFrame> m_lastEval;
    std::vector<std::int64_t> m_replicaBatch;
    MetricTotals m_metrics;                     ///< of all ranks' whole epochs since the run began or was resumed
    std::optional<std::int64_t> m_readyBatches; ///< as the epoch began
    std::optional<int> m_firstEpoch;            ///< Summary's; absent: an earlier attempt of the run may have made some
    bool m_amidEpoch = false;                   ///< likewise
    EpochTotals m_madeBefore;                   ///< of the first epoch here, before the checkpoint that it goes on from
    std::int64_t m_epochStartNs = 0;
    TraceWriter m_traceWriter;
    TcpTraffic m_traffic;
};

} // namespace lockstep::trainer
