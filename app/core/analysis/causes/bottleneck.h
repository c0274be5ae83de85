// SPDX-License-Identifier: MIT
#pragma once
// What bounds a run, why that is said, and what to try next. Pure functions over phase_parts.h: shares of training time,
// medians over repeats, of the rank in the middle by its waiting.
//
//   straggler-bound      waiting for slower ranks takes 10 % or more     } the largest of the three
//   bubble-bound         the same of a pipeline, whose stages wait      }
//                        for each other                                 }
//   input-bound          loading (load + h2d) takes 20 % or more         } that reach their threshold
//   communication-bound  exposed communication takes 20 % or more        }
//   launch-bound         none of these, and: more than half of the run passes before a rank trains; or GPUs have a kernel
//                        running in less than 60 % of training time, so they wait for the host to launch the next one; or
//                        20 % or more of training time is in no phase at all (the loop around the step)
//   compute-bound        none of these, and computing takes half or more
//   unknown              phases are missing, or nothing reaches its threshold
//
// A tip says what it could gain at most: 1 ÷ (1 - share) when the whole share went away; more epochs, by which a start weighs
// less, gain nothing. No tip wants a core that is not there: loading workers get cores that train nothing, as in a plan.
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/repeat_group.h"
#include "analysis/fairness/measured_groups.h"

namespace lockstep::core {

enum class Bound { Unknown, Input, Compute, Communication, Launch, Straggler, Bubble };
[[nodiscard]] std::string_view toString(Bound bound);  ///< "input-bound", …
[[nodiscard]] std::string_view meaningOf(Bound bound); ///< what that says of a run, as in the glossary

struct Bottleneck {
    std::string run; ///< the group's name
    Bound bound = Bound::Unknown;
    /// Of training time that the bounding phase takes, 0..1; where start-up bounds, of the run's time until a rank trains.
    std::optional<double> share;
    std::string evidence;           ///< one sentence with its figures
    std::vector<SuggestedRun> tips; ///< most promising first; each can be started as it stands
    bool operator==(const Bottleneck &) const = default;
};
/// "20 %"; a share under a threshold that would be rounded onto it gets more digits, "19.8 %".
[[nodiscard]] std::string shareText(double share, double threshold);
/// `others`: what was measured already is no tip; the reference among them is what tips are named by.
[[nodiscard]] Bottleneck bottleneckOf(const RepeatGroup &group, const MeasuredGroups &others);

} // namespace lockstep::core
