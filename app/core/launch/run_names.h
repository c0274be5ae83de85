#pragma once
#include <vector>

#include "launch/plan.h"

namespace lockstep::core {

/// Runs of one name and unlike settings get those settings in their names: "baseline, 4 workers, fp32". The cores of loading
/// workers come last, and only where nothing else tells two runs apart.
void tellApart(const std::vector<PlannedRun *> &runs);

} // namespace lockstep::core
