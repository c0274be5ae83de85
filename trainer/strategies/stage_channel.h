// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/types.h>

#include "trainer/comm/message.h"

namespace lockstep::trainer {

struct StageHeader {
    std::int64_t sentNs = 0;   ///< CLOCK_MONOTONIC of the sender
    std::int64_t beginNs = 0;  ///< forward: of the first stage, when it began the step
    std::int64_t wantStop = 0; ///< forward: some stage so far wants to; backward: all stop
    double loss = 0;           ///< backward, of the step's last micro-batch: the mean over the batch's real samples
};
/// Activations of a micro-batch, or their gradients.
using StageMessage = Message<StageHeader>;

/// One direction between two neighbouring stages of a pipeline. It keeps a few messages, in turn, so that a step allocates nothing, unless
/// its samples are of another length than the last one's, and no more activations are kept than the schedule needs. Used from one thread. Calls throw what c10d throws.
class StageChannel {
public:
    /// `samples`: what one sample's message holds, for its shape and type; where samples differ in length, one of that `length` and one
    /// of a length less by one: what they differ in grows with the length. `slots`: messages that exist at the same time.
    StageChannel(c10::intrusive_ptr<c10d::ProcessGroup> group, int peer, int tag,
                 const std::vector<torch::Tensor> &samples, std::int64_t length, std::size_t slots);

    /// Begins to receive the message of a micro-batch. The one `slots` before it must not be needed any more. `length`: of each of
    /// its samples, where they differ in it.
    void expect(std::size_t micro, std::int64_t samples, std::int64_t length);
    /// Waits for a message that is expected.
    [[nodiscard]] StageMessage &receive(std::size_t micro);

    /// A message to fill; waits until the one `slots` before it has left.
    [[nodiscard]] StageMessage &next(std::size_t micro, std::int64_t samples, std::int64_t length);
    void send(std::size_t micro);
    /// Waits until all messages have left.
    void finish();

private:
    struct Slot {
        std::unique_ptr<StageMessage> message;
        std::vector<std::int64_t> sizes;
        c10::intrusive_ptr<c10d::Work> work;
    };
    [[nodiscard]] Slot &slotOf(std::size_t micro) { return m_slots[micro % m_slots.size()]; }
    [[nodiscard]] Slot &fitted(std::size_t micro, std::int64_t samples, std::int64_t length);

    c10::intrusive_ptr<c10d::ProcessGroup> m_group;
    int m_peer, m_tag;
    std::int64_t m_length;
    std::vector<std::int64_t> m_sizes;  ///< of a message for one sample of that length
    std::vector<std::int64_t> m_growth; ///< of each size, with a length greater by one
    torch::Dtype m_type;
    std::vector<Slot> m_slots;
};

} // namespace lockstep::trainer
