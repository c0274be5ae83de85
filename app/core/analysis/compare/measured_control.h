// SPDX-License-Identifier: MIT
#pragma once
// Runs that were measured as controls: they have some of a run's settings, and all else as the reference.
#include <cstdint>
#include <vector>

#include "analysis/compare/judgement.h"
#include "analysis/fairness/measured_groups.h"

namespace lockstep::core {

/// What a control has of the run.
enum class Control : std::uint8_t {
    Loading,     ///< how it loads data
    AllButMethod ///< all but its method and devices, which alone stand between the two
};
/// Null where there is none, or where that is all in which the run differs from the reference.
[[nodiscard]] const PairJudgement *measuredControl(Control control, const MeasuredGroups &groups,
                                                   const std::vector<PairJudgement> &pairs, const PairJudgement &pair);

/// The first decisive difference of a comparison, load apart, that isn't what it is about: all that the two differ in, as a control
/// does. Other work always is one, whatever the comparison is about. Null: there is none.
[[nodiscard]] const FairnessFinding *unintendedDifference(const MeasuredGroups &groups, const PairJudgement &pair);

/// Whether the two had decisively different work, so that no factor says anything.
[[nodiscard]] bool hasOtherWork(const PairJudgement &pair);

/// Whether a finding is about load that is none of the run's.
[[nodiscard]] bool isLoad(const FairnessFinding &finding);

/// The control that takes the reference's place, where such a difference keeps the run from being judged against that; the nearest to the
/// run that was measured. Null: none was, or none is needed.
[[nodiscard]] const PairJudgement *controlInstead(const MeasuredGroups &groups, const std::vector<PairJudgement> &pairs,
                                                  const PairJudgement &pair);

} // namespace lockstep::core
