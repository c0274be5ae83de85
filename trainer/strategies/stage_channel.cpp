// SPDX-License-Identifier: MIT
#include "trainer/strategies/stage_channel.h"

#include <utility>

#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

StageChannel::StageChannel(c10::intrusive_ptr<c10d::ProcessGroup> group, int peer, int tag,
                           const std::vector<torch::Tensor> &samples, std::int64_t length, std::size_t slots)
    : m_group(std::move(group)), m_peer(peer), m_tag(tag), m_length(length), m_sizes(samples.front().sizes().vec()),
      m_growth(m_sizes.size()), m_type(samples.front().scalar_type()), m_slots(slots) {
    for (std::size_t i = 0; i < m_sizes.size(); ++i)
        m_growth[i] = m_sizes[i] - samples.back().size(static_cast<std::int64_t>(i));
}

/// The micro-batch's slot with a message of that size.
StageChannel::Slot &StageChannel::fitted(std::size_t micro, std::int64_t samples, std::int64_t length) {
    std::vector<std::int64_t> sizes = m_sizes;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        sizes[i] += m_growth[i] * (length - m_length);
    sizes.front() = samples;
    Slot &slot = slotOf(micro);
    if (!slot.message || slot.sizes != sizes) {
        slot.message = std::make_unique<StageMessage>(sizes, m_type);
        slot.sizes = std::move(sizes);
    }
    return slot;
}

void StageChannel::expect(std::size_t micro, std::int64_t samples, std::int64_t length) {
    Slot &slot = fitted(micro, samples, length);
    slot.work = m_group->recv(slot.message->tensors(), m_peer, m_tag + static_cast<int>(micro));
}

StageMessage &StageChannel::receive(std::size_t micro) {
    Slot &slot = slotOf(micro);
    std::exchange(slot.work, {})->wait();
    return *slot.message;
}

StageMessage &StageChannel::next(std::size_t micro, std::int64_t samples, std::int64_t length) {
    if (const auto work = std::exchange(slotOf(micro).work, {}))
        work->wait();
    return *fitted(micro, samples, length).message;
}

void StageChannel::send(std::size_t micro) {
    Slot &slot = slotOf(micro);
    slot.message->header().sentNs = monotonicNs();
    slot.work = m_group->send(slot.message->tensors(), m_peer, m_tag + static_cast<int>(micro));
}

void StageChannel::finish() {
    for (Slot &slot : m_slots)
        if (const auto work = std::exchange(slot.work, {}))
            work->wait();
}

} // namespace lockstep::trainer
