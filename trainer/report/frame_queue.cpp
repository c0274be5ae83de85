// SPDX-License-Identifier: MIT
#include "trainer/report/frame_queue.h"

#include <algorithm>
#include <utility>

#include "ipc/phase_sums.h"

namespace lockstep::trainer {

void mergeInto(StepsFrame &earlier, const StepsFrame &later) {
    if (earlier.loss && later.loss) {
        const auto before = static_cast<double>(earlier.samples), after = static_cast<double>(later.samples);
        LossWindow &loss = *earlier.loss;
        loss.min = lesserOrNan(loss.min, later.loss->min);
        loss.max = greaterOrNan(loss.max, later.loss->max);
        if (before + after > 0)
            loss.mean = (loss.mean * before + later.loss->mean * after) / (before + after);
        loss.last = later.loss->last;
    } else if (later.loss) {
        earlier.loss = later.loss;
    }
    earlier.lastStep = later.lastStep;
    earlier.count += later.count;
    earlier.samples += later.samples;
    add(earlier.phases, later.phases);
    merge(earlier.scalars, later.scalars);
    if (earlier.replicas.size() == later.replicas.size())
        for (std::size_t i = 0; i < later.replicas.size(); ++i)
            add(earlier.replicas[i].phases, later.replicas[i].phases);
    else
        earlier.replicas.clear(); // they would cover only part of the merged steps
}

void FrameQueue::push(Frame frame) {
    if (m_frames.size() >= m_softLimit) {
        if (std::holds_alternative<StepsFrame>(frame.body) && merge(frame))
            return;
        if (std::holds_alternative<HeartbeatFrame>(frame.body))
            return;
        if (std::holds_alternative<LogFrame>(frame.body) && m_frames.size() >= 16 * m_softLimit) {
            ++m_logsDropped;
            return;
        }
    }
    m_frames.push_back(std::move(frame));
}

bool FrameQueue::merge(const Frame &frame) {
    const auto &later = std::get<StepsFrame>(frame.body);
    for (auto queued = m_frames.rbegin(); queued != m_frames.rend(); ++queued) {
        if (auto *earlier = std::get_if<StepsFrame>(&queued->body)) {
            if (earlier->epoch != later.epoch || earlier->lastStep + 1 != later.firstStep)
                return false;
            mergeInto(*earlier, later);
            queued->monoNs = frame.monoNs;
            queued->wallUs = frame.wallUs;
            return true;
        }
        if (std::holds_alternative<EpochFrame>(queued->body))
            return false; // a window must not be moved before its epoch's end
    }
    return false;
}

Frame FrameQueue::pop() {
    Frame frame = std::move(m_frames.front());
    m_frames.pop_front();
    return frame;
}

} // namespace lockstep::trainer
