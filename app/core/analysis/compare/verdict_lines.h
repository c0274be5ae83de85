// SPDX-License-Identifier: MIT
#pragma once
// The verdict's head: one line for each run that matters, so that it is read in five seconds which of them is worth it.
//
// Worth it: told apart from the reference (statistics.h), faster by more than 3 %, and compared fairly. A decisive difference
// that wasn't meant (fairness.h) leaves it open, with two exceptions: a run that differs in this only, as controls do; and
// where a run was measured that has all this without the method and its devices, the two are compared with each other, so
// that what is left is the method's.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/repeat_group.h"
#include "analysis/compare/statistics.h"

namespace lockstep::core {
struct Judgement;

enum class Outcome : std::uint8_t {
    WorthIt,
    NotWorthIt,
    CantTell, ///< too few repeats, too much scatter, or not a fair comparison
    Failed,
    Pending, ///< still to be measured
    Faster,  ///< than another run that is not the reference: DDP than DP, a run than its control
    Slower,
    Equal,
    NotCompared ///< nothing is to come, and either has no training time
};
/// Of an interval that tells nothing apart: "equal to baseline within ±3 %", "can't tell yet whether it differs from baseline"; else
/// empty.
[[nodiscard]] std::string undecidedText(const SpeedUp &speedUp, const std::string &reference);
[[nodiscard]] std::string_view toString(Outcome outcome); ///< "worth it", "not worth it", "can't tell yet", "failed", …
[[nodiscard]] std::string_view keyOf(Outcome outcome);    ///< "worth_it", …, for JSON

struct VerdictLine {
    std::string run;         ///< "DDP on 2 devices"
    std::string against;     ///< "baseline", or the run that `speedUp` is over instead
    bool contrast = false;   ///< of two runs, neither of which is the reference
    std::string method;      ///< the run's
    std::string otherMethod; ///< of `against` in a contrast
    Outcome outcome = Outcome::Pending;
    std::optional<SpeedUp> speedUp;   ///< by training time, over `against`; absent, too, where the work differs
    std::optional<double> efficiency; ///< as PairJudgement's
    std::string reason;               ///< one, in few words: "91 % of the extra time is device compute"; may be empty
    std::optional<SuggestedRun> settles; ///< where it failed or can't be told: one press towards an answer
    std::vector<FailedRepeat> failed;    ///< of its repeats, whatever the others say
    bool operator==(const VerdictLine &) const = default;
};
/// "DDP on 2 devices", or "DDP against DP" of a contrast: on as many devices each.
[[nodiscard]] std::string nameOf(const VerdictLine &line);
/// "1.42× (1.26-1.58), 71 % efficient"; empty without a speed-up.
[[nodiscard]] std::string figuresText(const VerdictLine &line);
/// The line in one sentence: "DDP on 2 devices: worth it, 1.42× (1.26-1.58), 71 % efficient; 61 % of the time saved is data loading."
[[nodiscard]] std::string sentenceOf(const VerdictLine &line);

struct VerdictLines {
    std::vector<VerdictLine> lines;
    std::size_t more = 0; ///< runs without a line
};
/// In the table's order, of more than four the fastest of each method and those with failed repeats (eight at most); then DDP against DP
/// on as many devices. `judgement`: all of it but its lines and sentence. `varies`: the recipe's.
[[nodiscard]] VerdictLines verdictLines(const ResultTable &table, const std::vector<RepeatGroup> &groups,
                                        const Judgement &judgement, const std::vector<std::string> &varies);

/// What a choice among many runs needs of each.
struct Contender {
    std::string name, method;
    double factor = 1;
};
/// Places in `all`: every one, of more than four the fastest of each method, fastest first.
[[nodiscard]] std::vector<std::size_t> thatMatter(const std::vector<Contender> &all);

} // namespace lockstep::core
