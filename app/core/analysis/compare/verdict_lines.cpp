// SPDX-License-Identifier: MIT
#include "analysis/compare/verdict_lines.h"

#include <algorithm>
#include <array>
#include <set>

#include "analysis/compare/cause_words.h"
#include "analysis/compare/judgement.h"
#include "analysis/compare/measured_control.h"
#include "analysis/compare/row_figures.h"
#include "analysis/compare/settling_rounds.h"
#include "analysis/fairness/setting_factors.h"
#include "base/format.h"
#include "base/moments.h"
#include "ipc/run_title.h"

namespace lockstep::core {
namespace {

constexpr std::size_t mostLines = 4;
constexpr std::size_t mostFailedLines = 8; ///< beyond those that matter
constexpr const char *scatterTooMuch = "repeats scatter too much; make the machine quieter first";

/// In the enum's order.
struct OutcomeWords {
    std::string_view words, key;
};
constexpr std::array<OutcomeWords, 9> outcomeWords = {{{"worth it", "worth_it"},
                                                       {"not worth it", "not_worth_it"},
                                                       {"can't tell yet", "cant_tell"},
                                                       {"failed", "failed"},
                                                       {"to come", "pending"},
                                                       {"faster", "faster"},
                                                       {"slower", "slower"},
                                                       {"equal", "equal"},
                                                       {"not compared", "not_compared"}}};

/// Everything that a line is made from.
struct Known {
    const ResultTable &table;
    const std::vector<RepeatGroup> &groups;
    const Judgement &judgement;
    const std::vector<std::string> &varies; ///< the recipe's
    const MeasuredGroups &measured;         ///< the groups, by what they were measured with

    [[nodiscard]] const RepeatGroup *group(const std::string &name) const { return findGroup(groups, name); }
    [[nodiscard]] const ResultRow *row(const std::string &name) const {
        const auto found =
            std::ranges::find_if(table.rows, [&](const ResultRow &one) { return !one.published && one.name == name; });
        return found == table.rows.end() ? nullptr : &*found;
    }
    /// Its comparison with the reference.
    [[nodiscard]] const PairJudgement *pair(const std::string &name) const { return of(judgement.pairs, name); }
    /// Its comparison with the control that takes the reference's place.
    [[nodiscard]] const PairJudgement *controlled(const std::string &name) const {
        return of(judgement.controlled, name);
    }

private:
    static const PairJudgement *of(const std::vector<PairJudgement> &pairs, const std::string &name) {
        const auto found = std::ranges::find(pairs, name, &PairJudgement::run);
        return found == pairs.end() ? nullptr : &*found;
    }
};

/// A comparison of two runs by itself, in no family.
std::optional<SpeedUp> between(const ResultRow *from, const ResultRow *to) {
    if (!from || !to)
        return std::nullopt;
    std::optional<SpeedUp> out = speedUpOf(from->trainingTimes, to->trainingTimes);
    if (out)
        decideTogether({&*out});
    return out;
}

/// The same with the differences that weren't meant: those that the recipe varies were.
PairJudgement pairBetween(const Known &known, const RepeatGroup &from, const RepeatGroup &to) {
    PairJudgement out;
    out.reference = from.name;
    out.run = to.name;
    out.training = between(known.row(from.name), known.row(to.name));
    if (!out.training)
        return out;
    out.fairness = fairnessOf(from, to, known.varies, known.groups);
    std::erase_if(out.fairness, [&](const FairnessFinding &finding) { return isVaried(known.varies, finding.key); });
    out.otherWork = hasOtherWork(out);
    if (!out.otherWork)
        out.settling = settlingOf(*out.training, known.table.roundS);
    return out;
}

const FairnessFinding *firstOf(const PairJudgement &pair, FairnessWeight least, bool load) {
    const auto found = std::ranges::find_if(pair.fairness, [&](const FairnessFinding &finding) {
        return finding.weight >= least && isLoad(finding) == load;
    });
    return found == pair.fairness.end() ? nullptr : &*found;
}

/// "other programs took up to 1.2 cores"; empty: load does not weigh in this comparison.
std::string loadText(const Known &known, const PairJudgement &pair) {
    const FairnessFinding *finding = firstOf(pair, FairnessWeight::Notable, true);
    if (!finding && known.judgement.sharedLoads.empty())
        return {};
    const bool stolen = (finding ? finding->key : known.judgement.sharedLoads.front().key) == "stolen";
    const auto coresOf = [&](const std::string &name) {
        const RepeatGroup *group = known.group(name);
        return group ? meanOf(figuresOf(*group, stolen ? stolenCores : otherCores)) : std::nullopt;
    };
    const auto a = coresOf(pair.reference), b = coresOf(pair.run);
    if (!a && !b)
        return {};
    const std::string most = coresText(std::max(a.value_or(0), b.value_or(0))).toStdString();
    return stolen ? "the hypervisor gave " + most + " to other guests" : "other programs took " + most;
}

/// The rounds that are suggested for all comparisons with the reference, where they do something for this one; else those that do.
std::optional<SuggestedRun> roundsFor(const Known &known, const PairJudgement &pair) {
    if (!pair.settling)
        return std::nullopt;
    const std::optional<SuggestedRun> &ofAll = known.judgement.settling;
    if (pair.reference == known.judgement.reference && ofAll && !whatRepeatsDo(*pair.settling, ofAll->rounds).empty())
        return ofAll;
    return settlingRounds(known.table, {*pair.settling}, lackingRepeats(*pair.training));
}

void cantTell(VerdictLine &line, const std::string &reason, const std::optional<SuggestedRun> &settles) {
    line.outcome = Outcome::CantTell;
    line.reason = reason;
    line.settles = settles;
}

/// "other programs were busy in round 1; add 2 repeats on a quiet machine".
std::string disturbedReason(const SpeedUp &speedUp) {
    const int lacking = lackingQuietRepeats(speedUp);
    return busyText(*speedUp.disturbance) + "; add " + std::to_string(lacking) +
           (lacking == 1 ? " repeat" : " repeats") + " on a quiet machine";
}

/// What settles a comparison that undecidable() keeps open: as many rounds as its disturbedReason() names, else those that are suggested
/// for all comparisons.
std::optional<SuggestedRun> roundsForInterval(const Known &known, const SpeedUp &training) {
    return training.isUnsettled() ? quietRounds(known.table, training) : known.judgement.settling;
}

/// "about 3 more repeats would tell", with `link` before what they do; empty: no repeats are suggested.
std::string roundsText(const std::optional<SuggestedRun> &rounds, const PairJudgement &pair,
                       const std::string &link = " ") {
    if (!rounds)
        return {};
    const std::string_view then =
        pair.settling ? whatRepeatsDo(*pair.settling, rounds->rounds) : wouldGiveInterval; // none is open without one
    return repeatsText(*rounds) + (then.empty() ? std::string() : link + std::string(then));
}

/// "1 repeat each"; where the two have unlike numbers of them "1 repeat of baseline and 3 of DDP on 2 devices".
std::string repeatsOfBoth(const PairJudgement &pair) {
    const int reference = pair.training->referenceRepeats, run = pair.training->runRepeats;
    const std::string first = std::to_string(reference) + (reference == 1 ? " repeat" : " repeats");
    return reference == run ? first + " each"
                            : first + " of " + pair.reference + " and " + std::to_string(run) + " of " + pair.run;
}

/// Undecided though the comparison is fair: load, of which decisive load no added repeat makes up for, or repeats that scatter.
void leaveOpen(VerdictLine &line, const Known &known, const PairJudgement &pair) {
    const std::optional<SuggestedRun> rounds =
        firstOf(pair, FairnessWeight::Decisive, true) ? std::nullopt : roundsFor(known, pair);
    if (const std::string load = loadText(known, pair); !load.empty()) {
        const FairnessFinding *finding = firstOf(pair, FairnessWeight::Notable, true);
        const bool again = finding && finding->control;
        return cantTell(line,
                        load + "; repeat on a quiet machine" +
                            (rounds ? ", or add " + roundsText(rounds, pair, ", which ") : ""),
                        again ? finding->control : rounds);
    }
    cantTell(line,
             rounds                   ? roundsText(rounds, pair)
             : known.table.extendable ? std::string(scatterTooMuch)
                                      : repeatsOfBoth(pair) + " are too few",
             rounds);
}

/// By a comparison in which nothing differs that wasn't meant.
void judgeFair(VerdictLine &line, const PairJudgement &pair, const Known &known) {
    const SpeedUp &measured = *pair.training;
    if (firstOf(pair, FairnessWeight::Decisive, true))
        return leaveOpen(line, known, pair);
    if (*measured.high <= 1 + equalWithin) {
        line.outcome = Outcome::NotWorthIt;
        line.reason = measured.isDifferent() && pair.attribution ? causeClause(*pair.attribution)
                      : measured.isEqual() ? "as fast as " + pair.reference + " " + equalWithinText()
                                           : "not faster than " + pair.reference + " by 3 % or more";
    } else if (measured.isDifferent()) {
        line.outcome = Outcome::WorthIt;
        line.reason = pair.attribution ? causeClause(*pair.attribution) : std::string();
    } else
        leaveOpen(line, known, pair);
}

void cantCompare(VerdictLine &line, const FairnessFinding &unfair, const std::string &with) {
    cantTell(line, "unfair" + with + ": " + differenceIn(unfair), unfair.control);
}

bool isClearlyFaster(const SpeedUp &speedUp) {
    return speedUp.isDifferent() && speedUp.factor > 1;
}

/// What a script's flag asks for is unknown: it may be more work.
bool hasOtherFlags(const PairJudgement &pair) {
    return std::ranges::any_of(pair.fairness, [](const FairnessFinding &finding) {
        return finding.weight == FairnessWeight::Decisive && finding.key.starts_with("--");
    });
}

/// A run, the reference, and the control that has all of the run's that isn't the method's.
struct Controlled {
    const PairJudgement &control; ///< against the reference
    const PairJudgement &whole;   ///< the run against the reference
    const PairJudgement &own;     ///< the run against the control
    /// The comparison of the run that load makes unfair; null: neither.
    [[nodiscard]] const PairJudgement *loaded() const {
        for (const PairJudgement *pair : {&whole, &own})
            if (firstOf(*pair, FairnessWeight::Decisive, true))
                return pair;
        return nullptr;
    }
    [[nodiscard]] std::string undecided(const VerdictLine &line) const {
        return (isClearlyFaster(*whole.training) ? "what " + line.run + " adds to it"
                                                 : "whether " + line.run + " is faster than " + whole.reference) +
               " can't be told yet";
    }
};

/// Where the factor over the reference says nothing, the control's takes its place; a run is worth it only if it is clearly faster than
/// the reference, too.
void judgeByControl(const Controlled &runs, VerdictLine &line, const Known &known) {
    const std::string &control = runs.control.run;
    line.against = control;
    line.speedUp = runs.own.training;
    line.efficiency = runs.own.devices > 1 ? runs.own.efficiency : std::nullopt;
    judgeFair(line, runs.own, known);
    if (line.outcome == Outcome::WorthIt && !isClearlyFaster(*runs.whole.training))
        line.outcome = Outcome::Faster;
    if (line.reason.find(control) == std::string::npos)
        line.reason = "against " + control + (line.reason.empty() ? "" : ": " + line.reason);
}

/// The control does the same work and gains nothing, so the run's own time over the reference's decides: being faster than a slow control
/// is no reason to train so.
void judgeBesideSlowControl(const Controlled &runs, VerdictLine &line, const Known &known) {
    const SpeedUp &whole = *runs.whole.training, &rest = *runs.own.training;
    if (const PairJudgement *loaded = runs.loaded())
        return leaveOpen(line, known, *loaded);
    line.reason = timesText(rest.factor) + " (" + rangeText(rest) + ") against " + runs.control.run +
                  ", which reaches " + timesText(runs.control.training->factor) + " by itself";
    if (*whole.high <= 1 + equalWithin || *rest.high <= 1 + equalWithin)
        line.outcome = Outcome::NotWorthIt;
    else if (isClearlyFaster(whole) && rest.isDifferent())
        line.outcome = Outcome::WorthIt;
    else
        cantTell(line, line.reason + "; " + runs.undecided(line), known.judgement.settling);
}

/// Part of the run's gain is what its control gains without the method.
void judgeBesideFastControl(const Controlled &runs, VerdictLine &line, const Known &known) {
    const SpeedUp &rest = *runs.own.training;
    const std::string alone = runs.control.run + " reaches " + timesText(runs.control.training->factor) + " by itself";
    if (const PairJudgement *loaded = runs.loaded())
        return leaveOpen(line, known, *loaded);
    if (*rest.high <= 1 + equalWithin) {
        line.outcome = Outcome::NotWorthIt;
        line.reason = alone;
    } else if (isClearlyFaster(*runs.whole.training) && rest.isDifferent()) {
        line.outcome = Outcome::WorthIt;
        line.reason = timesText(rest.factor) + " (" + rangeText(rest) + ") of it against " + runs.control.run;
    } else
        cantTell(line, alone + "; " + runs.undecided(line), known.judgement.settling);
}

void judgeAgainst(const Controlled &runs, VerdictLine &line, const Known &known) {
    if (const FairnessFinding *unfair = unintendedDifference(known.measured, runs.own))
        return cantCompare(line, *unfair, " against " + runs.control.run);
    const bool gains = runs.control.training->factor > 1;
    if (runs.whole.otherWork || (!gains && hasOtherFlags(runs.whole)))
        return judgeByControl(runs, line, known);
    if (gains)
        judgeBesideFastControl(runs, line, known);
    else
        judgeBesideSlowControl(runs, line, known);
}

/// "1 repeat each: an interval takes 3", "other programs were busy in round 1; …"; empty: nothing keeps it from being judged.
std::string undecidable(const PairJudgement &pair) {
    const SpeedUp &measured = *pair.training;
    if (measured.hasInterval())
        return measured.isUnsettled() ? disturbedReason(measured) : std::string();
    if (measured.shareEpochs)
        return std::string("no interval: ") + sharedEpochsReason;
    return repeatsOfBoth(pair) + ": an interval takes " + std::to_string(repeatsForInterval);
}

void judgeLine(VerdictLine &line, const PairJudgement &pair, const Known &known) {
    const PairJudgement *control = controlInstead(known.measured, known.judgement.pairs, pair);
    const PairJudgement *own = control ? known.controlled(pair.run) : nullptr;
    const FairnessFinding *unfair = unintendedDifference(known.measured, pair);
    if (pair.otherWork) {
        line.speedUp.reset();
        line.efficiency.reset();
    }
    if (unfair && !own) // which no repeat changes
        return cantCompare(line, *unfair, {});
    const std::string open = pair.otherWork ? std::string() : undecidable(pair);
    if (!open.empty())
        return cantTell(line, open, roundsForInterval(known, *pair.training));
    if (!own)
        return judgeFair(line, pair, known);
    if (const std::string why = undecidable(*own); !why.empty())
        return cantTell(line, why, roundsForInterval(known, *own->training));
    judgeAgainst({*control, pair, *own}, line, known);
}

/// Adds "launch to exit 0.910×" where a training beyond ±3 % makes the whole run go the other way.
void addOppositeWholeRun(const PairJudgement &pair, VerdictLine &line) {
    if (!line.speedUp || line.against != pair.reference || !pair.wholeRun)
        return;
    const double training = line.speedUp->factor, whole = pair.wholeRun->factor;
    if ((training > 1 + equalWithin && whole < 1) || (training < 1 / (1 + equalWithin) && whole > 1))
        line.reason += (line.reason.empty() ? "" : "; ") + ("launch to exit " + timesText(whole));
}

/// Of a row that can't be compared with the reference, and did not fail.
void sayWhyNotCompared(const ResultRow &row, const Known &known, VerdictLine &line) {
    const ResultRow *reference = known.row(line.against);
    const bool isMeasured = !row.trainingTimes.empty();
    const bool isToCome = !isOver(row) || (isMeasured && reference && !isOver(*reference));
    line.outcome = isToCome ? Outcome::Pending : Outcome::NotCompared;
    if (!isMeasured && !row.disputes.empty())
        line.reason = row.disputes.front();
    else if (isMeasured && isOver(row))
        line.reason = (row.state == "done" ? "" : doneText(row) + "; ") + "its reference " + line.against +
                      (reference && reference->state == "stopped" ? " was stopped"
                       : isToCome                                 ? " has no training time yet"
                                                                  : " has no training time");
    else
        line.reason = row.state == "done"      ? "no training time was recorded"
                      : row.state == "unknown" ? "whether it still runs is unknown"
                                               : row.state;
}

/// The failed repeats again, once the experiment is over.
std::optional<SuggestedRun> failedAgain(const ResultRow &row, const Known &known) {
    SuggestedRun again;
    again.name = row.name;
    for (const FailedRepeat &failed : row.failed)
        if (!failed.run.empty())
            again.again.push_back(failed.run);
    if (again.again.empty() || !known.table.extendable)
        return std::nullopt;
    again.why = again.again.size() == 1
                    ? "Its failed repeat runs again in its place."
                    : "Its " + std::to_string(again.again.size()) + " failed repeats run again in their place.";
    return again;
}

VerdictLine lineOf(const ResultRow &row, const Known &known) {
    VerdictLine line;
    line.run = row.name;
    line.against = known.table.reference;
    line.method = row.method;
    line.failed = row.failed;
    const PairJudgement *pair = known.pair(row.name);
    if (pair && pair->training) {
        line.speedUp = pair->training;
        line.efficiency = pair->devices > 1 ? pair->efficiency : std::nullopt;
        judgeLine(line, *pair, known);
        addOppositeWholeRun(*pair, line);
    } else if (!row.failed.empty()) {
        line.outcome = Outcome::Failed;
        line.reason = row.failed.front().reason;
        line.settles = failedAgain(row, known);
    } else
        sayWhyNotCompared(row, known, line);
    return line;
}

/// The comparison with the reference that load alone leaves open; null: it doesn't.
const PairJudgement *leftOpenByLoad(const Known &known, const std::string &run) {
    const PairJudgement *pair = known.pair(run);
    return pair && firstOf(*pair, FairnessWeight::Decisive, true) ? pair : nullptr;
}

struct MeasuredRow {
    const RepeatGroup *group;
    const ResultRow *row;
};

/// Of one method; a reference has lines of its own.
std::vector<MeasuredRow> measuredRows(const Known &known, std::string_view method) {
    std::vector<MeasuredRow> out;
    for (const RepeatGroup &group : known.groups)
        if (const ResultRow *row = known.row(group.name); row && row->method == method && !group.reference)
            out.push_back({&group, row});
    return out;
}

/// The two runs on as many devices that differ in least besides the method.
void addDpAgainstDdp(const Known &known, std::vector<VerdictLine> &lines) {
    const RepeatGroup *dp = nullptr, *ddp = nullptr;
    std::size_t least = 0;
    const std::vector<MeasuredRow> ends = measuredRows(known, "ddp");
    for (const MeasuredRow &from : measuredRows(known, "dp"))
        for (const MeasuredRow &to : ends) {
            if (from.row->devices != to.row->devices)
                continue;
            const std::size_t apart = countOfFactors(*from.group, *to.group);
            if (!dp || apart < least) {
                dp = from.group;
                ddp = to.group;
                least = apart;
            }
        }
    if (!dp)
        return;
    VerdictLine line;
    line.run = ddp->name;
    line.against = dp->name;
    line.contrast = true;
    line.method = known.row(ddp->name)->method;
    line.otherMethod = known.row(dp->name)->method;
    const PairJudgement pair = pairBetween(known, *dp, *ddp);
    line.speedUp = pair.training;
    if (!line.speedUp)
        return;
    if (const FairnessFinding *unfair = unintendedDifference(known.measured, pair)) {
        cantCompare(line, *unfair, {});
        if (pair.otherWork)
            line.speedUp.reset();
        lines.push_back(std::move(line));
        return;
    }
    const SpeedUp &measured = *line.speedUp;
    line.outcome = measured.isEqual()                                   ? Outcome::Equal
                   : !measured.hasInterval() || !measured.isDifferent() ? Outcome::CantTell
                   : measured.factor > 1                                ? Outcome::Faster
                                                                        : Outcome::Slower;
    // Load that is too much to compare either with the reference slows processes that wait for each other unlike threads.
    const PairJudgement *loaded = leftOpenByLoad(known, dp->name) ? leftOpenByLoad(known, ddp->name) : nullptr;
    if (!loaded && firstOf(pair, FairnessWeight::Decisive, true))
        loaded = &pair;
    if (line.outcome != Outcome::CantTell && loaded) {
        leaveOpen(line, known, *loaded);
        lines.push_back(std::move(line));
        return;
    }
    for (const SettingFactor &factor : factorsBetween(*dp, *ddp))
        if (factor.key != "method")
            line.reason += (line.reason.empty() ? "with " : ", ") + factor.label;
    if (line.outcome == Outcome::CantTell && measured.isUnsettled()) {
        line.reason += (line.reason.empty() ? "" : "; ") + disturbedReason(measured);
        line.settles = roundsForInterval(known, measured);
    } else if (line.outcome == Outcome::CantTell && measured.shareEpochs) {
        line.reason += (line.reason.empty() ? "" : "; ") + undecidable(pair);
    } else if (line.outcome == Outcome::CantTell) {
        std::vector<Settling> open;
        if (pair.settling)
            open.push_back(*pair.settling);
        line.settles = settlingRounds(known.table, open, lackingRepeats(measured));
        if (line.settles || known.table.extendable)
            line.reason += (line.reason.empty() ? "" : "; ") +
                           (line.settles ? roundsText(line.settles, pair) : std::string(scatterTooMuch));
    }
    if (const std::optional<Attribution> why =
            line.reason.empty() && measured.isDifferent() ? attribute(*dp, *ddp, known.measured) : std::nullopt)
        line.reason = causeClause(*why);
    lines.push_back(std::move(line));
}

/// `places` and those of lines with failed repeats, in order.
std::vector<std::size_t> withFailed(std::vector<std::size_t> places, const std::vector<VerdictLine> &all) {
    const std::set<std::size_t> had(places.begin(), places.end());
    for (std::size_t at = 0; at < all.size() && places.size() < had.size() + mostFailedLines; ++at)
        if (!all[at].failed.empty() && !had.contains(at))
            places.push_back(at);
    std::ranges::sort(places);
    return places;
}

} // namespace

std::string undecidedText(const SpeedUp &speedUp, const std::string &reference) {
    if (!speedUp.hasInterval() || speedUp.isDifferent())
        return {};
    if (speedUp.isEqual())
        return "equal to " + reference + " " + equalWithinText();
    return std::string(toString(Outcome::CantTell)) + " whether it differs from " + reference;
}

std::string_view toString(Outcome outcome) {
    return outcomeWords[std::size_t(outcome)].words;
}

std::string_view keyOf(Outcome outcome) {
    return outcomeWords[std::size_t(outcome)].key;
}

std::string nameOf(const VerdictLine &line) {
    if (!line.contrast)
        return line.run;
    const MethodSpec &dp = specOf(Method::Dp), &ddp = specOf(Method::Ddp);
    if (!isTitledAs(line.run, ddp) ||
        !isTitledAs(line.against, dp)) // somebody's own names: two of them are too long for a line
        return std::string(ddp.title) + " against " + std::string(dp.title);
    const auto withoutDevices = [](std::string name) {
        const std::string devices = devicesIn(name);
        return devices.empty() ? name : name.erase(name.find(devices), devices.size());
    };
    return withoutDevices(line.run) + " against " + withoutDevices(line.against);
}

std::string figuresText(const VerdictLine &line) {
    if (!line.speedUp)
        return {};
    std::string out = timesText(line.speedUp->factor);
    if (line.speedUp->hasInterval())
        out += " (" + rangeText(line.speedUp) + ")";
    if (line.efficiency)
        out += ", " + percent(line.efficiency, 0).toStdString() + " efficient";
    return out;
}

std::string sentenceOf(const VerdictLine &line) {
    std::string out = atStart(nameOf(line)) + ": " + std::string(toString(line.outcome));
    if (const std::string figures = figuresText(line); !figures.empty())
        out += ", " + figures;
    return out + (line.reason.empty() ? "." : "; " + line.reason + ".");
}

VerdictLines verdictLines(const ResultTable &table, const std::vector<RepeatGroup> &groups, const Judgement &judgement,
                          const std::vector<std::string> &varies) {
    const MeasuredGroups measured(groups);
    const Known known{table, groups, judgement, varies, measured};
    std::vector<VerdictLine> all;
    for (const ResultRow &row : table.rows)
        if (!row.published && row.state != "not run" &&
            (!row.reference || (row.trainingTimes.empty() && !row.failed.empty())))
            all.push_back(lineOf(row, known));
    std::vector<Contender> contenders;
    for (const VerdictLine &line : all) {
        const PairJudgement *pair = known.pair(line.run);
        contenders.push_back(
            {line.run, line.method, pair && pair->training && !pair->otherWork ? pair->training->factor : 0});
    }
    VerdictLines out;
    for (const std::size_t at : withFailed(thatMatter(contenders), all))
        out.lines.push_back(all[at]);
    out.more = all.size() - out.lines.size();
    addDpAgainstDdp(known, out.lines);
    return out;
}

std::vector<std::size_t> thatMatter(const std::vector<Contender> &all) {
    std::vector<std::size_t> out(all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        out[i] = i;
    if (all.size() <= mostLines)
        return out;
    std::ranges::stable_sort(out, std::greater<>(), [&](std::size_t at) { return all[at].factor; });
    std::set<std::string> methods;
    std::erase_if(out, [&](std::size_t at) { return !methods.insert(all[at].method).second; });
    return out;
}

} // namespace lockstep::core
