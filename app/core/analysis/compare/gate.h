// SPDX-License-Identifier: MIT
#pragma once
// A gate for continuous integration: does a run take longer than before, by more than is allowed?
//
// It asks in one direction, so it takes the 90 % interval, of whose ends each is a one-sided 95 % bound (mean_difference.h): a change that
// takes just what is allowed fails in at most 5 % of cases and passes in at most 5 %. These are two one-sided tests at one margin; the
// interval is that of an equivalence test (D. J. Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987) 657).
#include <optional>
#include <string>
#include <vector>

#include "store/run_data.h"

namespace lockstep::core {

enum class GateOutcome {
    Passed,   ///< the whole interval lies within what is allowed
    Slower,   ///< the whole interval lies beyond it
    Undecided ///< the interval is too wide, or the two can't be compared: never a pass
};
[[nodiscard]] std::string_view toString(GateOutcome outcome); ///< "passed", "slower", "undecided"

/// One run of the new measurement against the same of the base.
struct GateCase {
    std::string name;
    GateOutcome outcome = GateOutcome::Undecided;
    /// By how much its training takes longer, as a share (0.07: 7 %; negative: faster), with the 90 % interval.
    std::optional<double> slower, low, high;
    int baseRepeats = 0, newRepeats = 0; ///< that count
    std::string reason;                  ///< one sentence
};

/// Judged as every other comparison is (judgement.h), the base as the reference. Repeats of one experiment are compared round by
/// round. Work that differs at all or is known of some repeats only, another method, number of devices or processes, a
/// checkpoint's epochs, an unlike machine or other programs' load leave it undecided; so does a new repeat that is missing,
/// failed, was stopped, has no training time or lost ranks that were started again, unless the others are slower.
/// Disputed repeats of either (MeasuredOnce) leave it undecided, whatever the others say.
[[nodiscard]] GateCase gateOf(const std::string &name, std::vector<RunOutcome> base, std::vector<RunOutcome> next,
                              double mostSlower);

/// Leaves a case with a measured time undecided, whatever that is.
void saysNothing(GateCase &one, const std::string &why);

/// Slower if one is, else undecided if one is or there are none.
[[nodiscard]] GateOutcome worstOf(const std::vector<GateCase> &cases);

[[nodiscard]] std::string toJson(const std::vector<GateCase> &cases, double mostSlower);
/// A test suite with a case a run: slower is a failure, undecided an error.
[[nodiscard]] std::string toJUnit(const std::vector<GateCase> &cases);
[[nodiscard]] std::string toMarkdown(const std::vector<GateCase> &cases, double mostSlower);
[[nodiscard]] std::string toText(const std::vector<GateCase> &cases); ///< a line a run

} // namespace lockstep::core
