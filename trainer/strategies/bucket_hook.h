// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <torch/csrc/distributed/c10d/comm.hpp>

#include "ipc/frames.h"
#include "trainer/report/phase_clock.h"
#include "trainer/report/training_position.h"
#include "trainer/strategies/sum_thread.h"

namespace lockstep::trainer {

/// What one step's buckets did, CLOCK_MONOTONIC.
struct BucketStamp {
    std::int64_t bytes = 0, readyNs = 0, startNs = 0, endNs = 0;
};

/// The same on a GPU, as points of its streams, until they are reached.
struct BucketPoints {
    std::int64_t bytes = 0;
    std::shared_ptr<c10::Event> ready, end;
};

/// The record the hook and its strategy share. Ends are stamped by the backend's thread.
class BucketRecord {
public:
    void beginBackward(std::shared_ptr<c10::Event> point);
    void ready(std::size_t bucket, std::int64_t bytes, std::int64_t readyNs, std::int64_t startNs);
    void ended(std::size_t bucket, std::int64_t endNs);
    [[nodiscard]] std::vector<BucketStamp> take(std::int64_t &backwardNs);

    void readyAt(std::size_t bucket, std::int64_t bytes, std::shared_ptr<c10::Event> point);
    void endedAt(std::size_t bucket, std::shared_ptr<c10::Event> point);
    /// Empty where the backend doesn't report when buckets end.
    [[nodiscard]] std::vector<BucketPoints> takePoints(std::shared_ptr<c10::Event> &backward);

private:
    std::mutex m_mutex;
    std::vector<BucketStamp> m_buckets;
    std::vector<BucketPoints> m_points;
    std::int64_t m_backwardNs = 0;
    std::shared_ptr<c10::Event> m_backward;
};

/// Averages each bucket over the ranks, by the backend's all-reduce or in a SumThread, as soon as its gradients are ready, and
/// stamps when: on CPUs by the host's clock, under NCCL by events in the GPU's streams. Gloo on GPUs doesn't report ends.
class BucketHook final : public c10d::CommHookInterface {
public:
    /// `beforeLast` is called with the last bucket's gradients before they leave (on the thread that runs backward).
    using BeforeLast = std::function<void(c10d::GradBucket &)>;
    /// `sums`: null: the backend's all-reduce. It and `position` (may be null) must live as long as the hook. `sentAs`: the format in
    /// which gradients are sent and added up; none: their own.
    BucketHook(c10::intrusive_ptr<c10d::ProcessGroup> group, SumThread *sums, std::optional<at::ScalarType> sentAs,
               std::shared_ptr<BucketRecord> record, PhaseClock &clock, TrainingPosition *position,
               BeforeLast beforeLast);

    c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket &bucket) override;
    at::Tensor parseHookResult(const c10::IValue &result) override;

private:
    c10::intrusive_ptr<c10d::ProcessGroup> m_group;
    SumThread *m_sums;
    std::optional<at::ScalarType> m_sentAs;
    std::shared_ptr<BucketRecord> m_record;
    PhaseClock &m_clock;
    TrainingPosition *m_position;
    bool m_inStream; ///< the backend's work is in a stream of the GPU
    BeforeLast m_beforeLast;
};

} // namespace lockstep::trainer
