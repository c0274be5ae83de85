// SPDX-License-Identifier: MIT
#include "trainer/strategies/stage_channel.h"

#include <utility>

#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

StageChannel::StageChannel(c10::intrusive_ptr<c10d::ProcessGroup> group, int peer, int tag, const torch::Tensor &sample,
                           std::size_t slots)
    : m_group(std::move(group)), m_peer(peer), m_tag(tag), m_sizes(sample.sizes().vec()), m_type(sample.scalar_type()),
      m_slots(slots) {}

/// The micro-batch's slot with a message of that size.
StageChannel::Slot &StageChannel::fitted(std::size_t micro, std::int64_t samples) {
    Slot &slot = slotOf(micro);
    if (!slot.message || slot.samples != samples) {
        m_sizes.front() = samples;
        slot.message = std::make_unique<StageMessage>(m_sizes, m_type);
        slot.samples = samples;
    }
    return slot;
}

void StageChannel::expect(std::size_t micro, std::int64_t samples) {
    Slot &slot = fitted(micro, samples);
    slot.work = m_group->recv(slot.message->tensors(), m_peer, m_tag + static_cast<int>(micro));
}

StageMessage &StageChannel::receive(std::size_t micro) {
    Slot &slot = slotOf(micro);
    std::exchange(slot.work, {})->wait();
    return *slot.message;
}

StageMessage &StageChannel::next(std::size_t micro, std::int64_t samples) {
    if (const auto work = std::exchange(slotOf(micro).work, {}))
        work->wait();
    return *fitted(micro, samples).message;
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
