// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>

#include "ipc/frames.h"

namespace lockstep::trainer {

/// Frames that wait to be sent. The queue is bounded but loses nothing important: when it is full, a window of steps is
/// merged into the previous one, and further log lines are counted instead of kept. State, epoch, eval, comm and alert
/// frames are never dropped. Not thread safe.
class FrameQueue {
public:
    explicit FrameQueue(std::size_t softLimit = 64) : m_softLimit(softLimit) {}

    void push(Frame frame);
    [[nodiscard]] bool empty() const { return m_frames.empty(); }
    [[nodiscard]] std::size_t size() const { return m_frames.size(); }
    [[nodiscard]] Frame pop();
    void clear() { m_frames.clear(); }
    [[nodiscard]] std::uint64_t logsDropped() const { return m_logsDropped; }

private:
    [[nodiscard]] bool merge(const Frame &frame);

    std::deque<Frame> m_frames;
    std::size_t m_softLimit;
    std::uint64_t m_logsDropped = 0;
};

/// Adds a later window of the same epoch to an earlier one.
void mergeInto(StepsFrame &earlier, const StepsFrame &later);

} // namespace lockstep::trainer
