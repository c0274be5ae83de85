// SPDX-License-Identifier: MIT
#include "trainer/report/stage_timeline.h"

namespace lockstep::trainer {

void StageTimeline::add(Phase phase, std::size_t microBatch, std::int64_t startNs, std::int64_t endNs) {
    m_step.push_back({phase, microBatch, startNs, endNs});
}

void StageTimeline::endStep(std::int64_t beginNs) {
    if (m_step.size() > m_sums.size()) {
        m_sums = m_step;
        for (Part &sum : m_sums)
            sum.startNs = sum.endNs = 0;
        m_steps = 0;
    }
    if (m_step.size() == m_sums.size()) {
        for (std::size_t i = 0; i < m_step.size(); ++i) {
            m_sums[i].startNs += m_step[i].startNs - beginNs;
            m_sums[i].endNs += m_step[i].endNs - beginNs;
        }
        ++m_steps;
    }
    m_step.clear();
}

void StageTimeline::moveTo(CommFrame &frame) {
    frame.stageSteps = m_steps;
    const double mean = 1e-9 / static_cast<double>(m_steps);
    if (m_steps > 0 && m_sums.size() <= mostStageWork)
        for (const Part &sum : m_sums)
            frame.stageWork.push_back({std::string(nameOf(sum.phase)), static_cast<int>(sum.microBatch),
                                       static_cast<double>(sum.startNs) * mean, static_cast<double>(sum.endNs) * mean});
    for (Part &sum : m_sums)
        sum.startNs = sum.endNs = 0;
    m_steps = 0;
}

} // namespace lockstep::trainer
