// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <utility>

#include <c10/core/Event.h>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "ipc/run_config.h"
#include "trainer/comm/communicator.h"
#include "trainer/report/phase_clock.h"
#include "trainer/report/trace.h"
#include "trainer/strategies/bucket_hook.h"
#include "trainer/strategies/bucket_order.h"
#include "trainer/strategies/comm_statistics.h"
#include "trainer/strategies/local_passes.h"
#include "trainer/strategies/strategy.h"
#include "trainer/strategies/sum_thread.h"

namespace lockstep::trainer {

/// Distributed data parallel by c10d's Reducer: one process a device, gradients averaged in buckets while backward runs.
///
/// One extra parameter, the control slots, is reduced in the last bucket: slot 0 holds the request to stop, the others each
/// rank's own times until its gradients were ready. So all ranks learn both at the same step without an extra message. It
/// belongs neither to the model nor to the optimizer.
class Ddp final : public Strategy {
public:
    struct Options {
        double bucketMb = defaultBucketMb;
        std::string bucketOrder;                   ///< that of the run which is resumed; else empty
        const SumWay *sums = nullptr;              ///< how buckets are summed up; null: by the backend's all-reduce
        std::optional<at::ScalarType> sentAs = {}; ///< format in which gradients are sent; none: their own
        int accumulate = 1;                        ///< parts of a batch, computed one after another
    };
    /// Checks that all ranks have the same shapes and gives them rank 0's parameters and buffers.
    Ddp(std::shared_ptr<Model> model, Communicator &communicator, PhaseClock &clock, const Options &options,
        Trace *trace = nullptr);
    ~Ddp() override;

    StepOutcome step(const Batch &batch, bool wantStop) override;
    void takeOptimizerState(const Optimizer &) override; ///< after a rollback no earlier wish to stop counts
    [[nodiscard]] std::string bucketOrder() override;
    [[nodiscard]] std::span<const OwnTimes> ownTimes() const override { return m_ownTimes; }
    [[nodiscard]] std::optional<CommFrame> takeComm() override { return m_statistics.take(); }

private:
    [[nodiscard]] BucketOrder firstBuckets(const std::string &saved) const;
    void makeReducer(const BucketOrder &buckets, const Options &options);
    void shareBuffers();
    void beforeLastBucket(c10d::GradBucket &bucket);
    void shareOwnTimes(const at::Tensor &slots);
    [[nodiscard]] bool readControl();
    void readOwnTimes(const double *slots);
    void accountCommunication();
    void accountWhenKnown();
    void traceBuckets(const std::vector<BucketStamp> &stamps);

    std::shared_ptr<Model> m_model;
    Communicator &m_communicator;
    PhaseClock &m_clock;
    LocalPasses m_passes;
    Trace *m_trace;
    std::vector<at::Tensor> m_parameters; ///< the model's, then the control slots
    at::Tensor m_control, m_controlInput;
    std::shared_ptr<BucketRecord> m_record;
    std::unique_ptr<SumThread> m_sums; ///< outlives the Reducer, whose hook uses it; absent: the backend's all-reduce
    std::shared_ptr<c10d::Reducer> m_reducer;
    std::shared_ptr<c10d::Logger> m_logger;
    CommStatistics m_statistics;
    std::int64_t m_backwardEndNs = 0;
    std::int64_t m_buffersNs = 0; ///< of the step: until this rank had rank 0's buffers
    std::int64_t m_readyNs = 0;   ///< from the last all-reduce's end to this rank's last gradient, without m_buffersNs
    std::int64_t m_waitNs = 0;    ///< slowest rank's ready − own
    std::vector<OwnTimes> m_ownTimes; ///< of each rank, CPU devices
    bool m_stopBefore = false;        ///< CPU device beside GPUs: last step's stop slot
    at::Tensor m_hostFlag;            ///< CUDA: last step's stop slot, on its way to the host
    std::unique_ptr<c10::Event> m_copied;
};

} // namespace lockstep::trainer
