// SPDX-License-Identifier: MIT
#include "trainer/strategies/bucket_hook.h"

#include <algorithm>
#include <utility>

#include <c10/core/Event.h>
#include <c10/core/GradMode.h>

namespace lockstep::trainer {

void BucketRecord::beginBackward(std::shared_ptr<c10::Event> point) {
    const std::lock_guard lock(m_mutex);
    m_buckets.clear();
    m_points.clear();
    m_backward = std::move(point);
    m_backwardNs = monotonicNs();
}

void BucketRecord::ready(std::size_t bucket, std::int64_t bytes, std::int64_t readyNs, std::int64_t startNs) {
    const std::lock_guard lock(m_mutex);
    m_buckets.resize(std::max(m_buckets.size(), bucket + 1));
    m_buckets[bucket] = {bytes, readyNs, startNs, 0};
}

void BucketRecord::ended(std::size_t bucket, std::int64_t endNs) {
    const std::lock_guard lock(m_mutex);
    if (bucket < m_buckets.size())
        m_buckets[bucket].endNs = endNs;
}

std::vector<BucketStamp> BucketRecord::take(std::int64_t &backwardNs) {
    const std::lock_guard lock(m_mutex);
    backwardNs = m_backwardNs;
    return std::exchange(m_buckets, {});
}

void BucketRecord::readyAt(std::size_t bucket, std::int64_t bytes, std::shared_ptr<c10::Event> point) {
    const std::lock_guard lock(m_mutex);
    m_points.resize(std::max(m_points.size(), bucket + 1));
    m_points[bucket] = {bytes, std::move(point), {}};
}

void BucketRecord::endedAt(std::size_t bucket, std::shared_ptr<c10::Event> point) {
    const std::lock_guard lock(m_mutex);
    if (bucket < m_points.size())
        m_points[bucket].end = std::move(point);
}

std::vector<BucketPoints> BucketRecord::takePoints(std::shared_ptr<c10::Event> &backward) {
    const std::lock_guard lock(m_mutex);
    backward = std::exchange(m_backward, {});
    auto points = std::exchange(m_points, {});
    const bool whole = backward && std::all_of(points.begin(), points.end(),
                                               [](const BucketPoints &each) { return each.ready && each.end; });
    return whole ? std::move(points) : std::vector<BucketPoints>();
}

namespace {

/// The sum in the bucket's own format, as the Reducer expects it.
c10::IValue intoBuffer(c10::ivalue::Future &done, const at::Tensor &buffer, const at::Tensor &sum) {
    const c10::AutoGradMode noGrad(false); // the mode belongs to the thread
    (void)done.value();                    // throws what the backend threw
    buffer.copy_(sum);
    return {std::vector<at::Tensor>{buffer}};
}

} // namespace

BucketHook::BucketHook(c10::intrusive_ptr<c10d::ProcessGroup> group, SumThread *sums,
                       std::optional<at::ScalarType> sentAs, std::shared_ptr<BucketRecord> record, PhaseClock &clock,
                       TrainingPosition *position, BeforeLast beforeLast)
    : m_group(std::move(group)), m_sums(sums), m_sentAs(sentAs), m_record(std::move(record)), m_clock(clock),
      m_position(position), m_inStream(m_group->getBackendType() == c10d::ProcessGroup::BackendType::NCCL),
      m_beforeLast(std::move(beforeLast)) {}

c10::intrusive_ptr<c10::ivalue::Future> BucketHook::runHook(c10d::GradBucket &bucket) {
    if (bucket.isLast())
        m_beforeLast(bucket); // ends backward: its last gradient is ready
    const std::int64_t readyNs = monotonicNs();
    at::Tensor &buffer = bucket.getBufferRef();
    const auto index = bucket.getIndex();
    const auto bytes =
        buffer.numel() * static_cast<std::int64_t>(m_sentAs ? at::elementSize(*m_sentAs) : buffer.element_size());
    if (buffer.is_cuda())
        m_record->readyAt(index, bytes, m_clock.point());       // the host's clock says nothing about a GPU
    at::Tensor sent = m_sentAs ? buffer.to(*m_sentAs) : buffer; // then divided, as PyTorch's compression hooks do
    if (m_group->getSize() > 1)
        sent.div_(m_group->getSize()); // with a hook, the Reducer leaves the average to us
    if (!buffer.is_cuda())
        m_record->ready(index, bytes, readyNs, monotonicNs());
    std::vector<at::Tensor> tensors{sent};
    TrainingPosition *const noted = buffer.is_cuda() ? nullptr : m_position; // a GPU's collective is only queued here
    if (noted)
        noted->enterCollective();
    auto future = m_sums ? m_sums->sum(sent) : m_group->allreduce(tensors)->getFuture();
    if (m_sentAs)
        future = future->then([buffer, sent](c10::ivalue::Future &done) { return intoBuffer(done, buffer, sent); },
                              future->elementType());
    if (buffer.is_cuda()) {
        if (!m_inStream)
            return future; // Gloo copies through the host, in streams of its own that can't be observed
        // NCCL's future is complete at once: this runs here, in a stream that waits for the sum, and so will the Reducer's.
        return future->then(
            [record = m_record, &clock = m_clock, index](c10::ivalue::Future &done) {
                record->endedAt(index, clock.point());
                return done.value();
            },
            future->elementType());
    }
    // The stamp runs on the backend's thread the moment the sum is there.
    return future->then(
        [record = m_record, index, noted](c10::ivalue::Future &done) {
            record->ended(index, monotonicNs());
            if (noted)
                noted->leaveCollective();
            return done.value();
        },
        future->elementType());
}

at::Tensor BucketHook::parseHookResult(const c10::IValue &result) {
    return c10d::detail::parseCppCommHookResult(result);
}

} // namespace lockstep::trainer
