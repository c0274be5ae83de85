#include "trainer/strategies/bucket_hook.h"

#include <algorithm>

namespace lockstep::trainer {

void BucketRecord::beginBackward() {
    const std::lock_guard lock(m_mutex);
    m_buckets.clear();
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

BucketHook::BucketHook(c10::intrusive_ptr<c10d::ProcessGroup> group, std::shared_ptr<BucketRecord> record,
                       BeforeLast beforeLast)
    : m_group(std::move(group)), m_record(std::move(record)), m_beforeLast(std::move(beforeLast)) {}

c10::intrusive_ptr<c10::ivalue::Future> BucketHook::runHook(c10d::GradBucket &bucket) {
    if (bucket.isLast())
        m_beforeLast(bucket); // ends backward: its last gradient is ready
    const std::int64_t readyNs = monotonicNs();
    at::Tensor &buffer = bucket.getBufferRef();
    if (m_group->getSize() > 1)
        buffer.div_(m_group->getSize()); // with a hook, the Reducer leaves the average to us
    const auto index = bucket.getIndex();
    m_record->ready(index, static_cast<std::int64_t>(buffer.nbytes()), readyNs, monotonicNs());
    std::vector<at::Tensor> tensors{buffer};
    auto future = m_group->allreduce(tensors)->getFuture();
    if (buffer.is_cuda())
        return future; // the host's clock says nothing about when a GPU's sum is there
    // The stamp runs on the backend's thread the moment the sum is there.
    return future->then(
        [record = m_record, index](c10::ivalue::Future &done) {
            record->ended(index, monotonicNs());
            return done.value();
        },
        future->elementType());
}

at::Tensor BucketHook::parseHookResult(const c10::IValue &result) {
    return c10d::detail::parseCppCommHookResult(result);
}

} // namespace lockstep::trainer
