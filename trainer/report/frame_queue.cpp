#include "trainer/report/frame_queue.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::trainer {

namespace {

/// A NaN anywhere stays visible: std::min and std::max would lose it depending on the order.
double lesser(double a, double b) {
    return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
}
double greater(double a, double b) {
    return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
}

void mergeInto(PhaseTimes &earlier, const PhaseTimes &later) {
    for (const auto &[name, time] : later) {
        PhaseTime &sum = earlier[name];
        sum.sumS += time.sumS;
        if (time.maxS)
            sum.maxS = std::max(sum.maxS.value_or(0), *time.maxS);
    }
}

} // namespace

void mergeInto(StepsFrame &earlier, const StepsFrame &later) {
    if (earlier.loss && later.loss) {
        const auto before = static_cast<double>(earlier.samples), after = static_cast<double>(later.samples);
        LossWindow &loss = *earlier.loss;
        loss.min = lesser(loss.min, later.loss->min);
        loss.max = greater(loss.max, later.loss->max);
        if (before + after > 0)
            loss.mean = (loss.mean * before + later.loss->mean * after) / (before + after);
        loss.last = later.loss->last;
    } else if (later.loss) {
        earlier.loss = later.loss;
    }
    earlier.lastStep = later.lastStep;
    earlier.count += later.count;
    earlier.samples += later.samples;
    mergeInto(earlier.phases, later.phases);
    if (earlier.replicas.size() == later.replicas.size())
        for (std::size_t i = 0; i < later.replicas.size(); ++i)
            mergeInto(earlier.replicas[i].phases, later.replicas[i].phases);
    else
        earlier.replicas.clear(); // of a part of the steps they would tell too little
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
            return false; // a window must not move before its epoch's end
    }
    return false;
}

Frame FrameQueue::pop() {
    Frame frame = std::move(m_frames.front());
    m_frames.pop_front();
    return frame;
}

} // namespace lockstep::trainer
