// SPDX-License-Identifier: MIT
#include "store/run_stages.h"

#include <algorithm>

namespace lockstep::core {
namespace {

bool isSameWork(const StageWork &a, const StageWork &b) {
    return a.phase == b.phase && a.microBatch == b.microBatch;
}

} // namespace

void RunStages::take(int rank, const CommFrame &body) {
    if (body.stageWork.empty() || body.stageSteps <= 0)
        return;
    std::vector<StageWork> &means = m_work[rank];
    double &steps = m_steps[rank];
    if (!std::ranges::equal(means, body.stageWork, isSameWork)) { // a resumed run may have other micro-batches
        means = body.stageWork;
        steps = double(body.stageSteps);
        return;
    }
    steps += double(body.stageSteps);
    const double weight = double(body.stageSteps) / steps;
    for (std::size_t i = 0; i < means.size(); ++i) {
        means[i].startS += (body.stageWork[i].startS - means[i].startS) * weight;
        means[i].endS += (body.stageWork[i].endS - means[i].endS) * weight;
    }
}

} // namespace lockstep::core
