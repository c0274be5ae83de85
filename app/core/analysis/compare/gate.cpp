// SPDX-License-Identifier: MIT
#include "analysis/compare/gate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <nlohmann/json.hpp>
#include <QXmlStreamWriter>

#include "analysis/compare/counted_groups.h"
#include "analysis/compare/judgement.h"
#include "analysis/compare/repeat_group.h"
#include "analysis/history/run_facts.h"
#include "base/format.h"
#include "base/markdown_text.h"
#include "base/xml_text.h"
#include "ipc/json_or_null.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char *baseName = "the base", *newName = "the new run";
/// Findings of fairness.h that say that the machine is another one.
constexpr std::array<std::string_view, 5> ofMachines = {"host", "cpu_model", "gpu_model", "machine_cores",
                                                        "torch_version"};

std::string shareText(std::optional<double> share, int decimals = 1) {
    if (!share)
        return "-";
    const std::string text = percent(std::fabs(*share), decimals).toStdString();
    return (std::round(*share * 1000) < 0 ? "−" : "") + text;
}

std::string rangeOf(const GateCase &one) {
    return one.low && one.high ? shareText(one.low) + " to " + shareText(one.high) : "-";
}

std::string longer(const GateCase &one) {
    const std::string interval = one.low ? " (" + rangeOf(one) + ")" : "";
    return one.slower && *one.slower < 0 ? "takes " + shareText(-*one.slower) + " less time" + interval
                                         : "takes " + shareText(one.slower) + " more time" + interval;
}

/// What kept a repeat from training as it was meant to.
enum class Trouble { None, Missing, Failed, Stopped, Unfinished, Untrained, Restarted };

/// In the enum's order.
struct TroubleWords {
    const char *ofOne, *ofSeveral;
};
constexpr std::array<TroubleWords, 7> troubleWords = {
    {{"", ""},
     {"is not here", "are not here"},
     {"failed", "failed"},
     {"was stopped", "were stopped"},
     {"has not finished", "have not finished"},
     {"ended without a training time", "ended without a training time"},
     {"lost ranks, which were started again", "lost ranks, which were started again"}}};

Trouble troubleOf(const RunOutcome &run) {
    if (run.missing)
        return Trouble::Missing;
    if (run.agentDied || run.state == RunState::Failed)
        return Trouble::Failed;
    if (run.state == RunState::Stopped)
        return Trouble::Stopped;
    if (run.state != RunState::Done)
        return Trouble::Unfinished;
    if (!run.totalTrainingTimeS)
        return Trouble::Untrained;
    return run.restarts > 0 ? Trouble::Restarted : Trouble::None;
}

bool isMeasured(const RunOutcome &run) {
    const Trouble trouble = troubleOf(run);
    return trouble == Trouble::None || trouble == Trouble::Restarted;
}

/// Returns why runs were left out of which no one can tell what they measured; empty: there are none.
std::string countEachOnce(std::vector<RunOutcome> &runs) {
    std::vector<const RunOutcome *> all;
    for (const RunOutcome &run : runs)
        all.push_back(&run);
    MeasuredOnce once = eachMeasuredOnce(all);
    std::vector<RunOutcome> counted;
    for (const RunOutcome *run : once.counted)
        counted.push_back(*run);
    runs = std::move(counted);
    const std::size_t count = once.disputes.size();
    return count == 0 ? std::string()
                      : once.disputes.front() + (count > 1 ? "; " + std::to_string(count - 1) + " more likewise" : "");
}

void takeUnmeasuredOut(std::vector<RunOutcome> &runs) {
    std::erase_if(runs, [](const RunOutcome &run) { return !isMeasured(run); });
}

/// "1 new repeat failed and 2 new repeats were stopped"; empty: all are as they should be.
std::string troublesOf(const std::vector<RunOutcome> &runs) {
    std::vector<std::string> parts;
    for (std::size_t i = 1; i < troubleWords.size(); ++i)
        if (const auto count = std::ranges::count(runs, Trouble(i), troubleOf); count > 0)
            parts.push_back(std::to_string(count) + (count == 1 ? " new repeat " : " new repeats ") +
                            (count == 1 ? troubleWords[i].ofOne : troubleWords[i].ofSeveral));
    std::string out;
    for (std::size_t i = 0; i < parts.size(); ++i)
        out += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
    return out;
}

/// What passes but for that is undecided: a change that makes runs fail, or not train, is no pass.
void considerTroubles(const std::string &troubles, GateCase &out) {
    if (troubles.empty() || out.outcome != GateOutcome::Passed)
        return;
    out.outcome = GateOutcome::Undecided;
    out.reason = longer(out) + ", but " + troubles;
}

void rename(std::vector<RunOutcome> &runs, const char *name) {
    for (RunOutcome &run : runs)
        run.name = name;
}

std::string methodSaid(const RunOutcome &run) {
    const auto said = run.about.find("method");
    return said == run.about.end() ? std::string() : said->second;
}

std::string methodSet(const RunOutcome &run) {
    const RunFacts facts = factsOf(run);
    const auto set = facts.find("method");
    return set == facts.end() ? std::string() : set->second;
}

std::string devicesGiven(const RunOutcome &run) {
    return run.deviceNames.empty() ? std::string() : std::to_string(run.deviceNames.size());
}

std::string processesOf(const RunOutcome &run) {
    return std::to_string(run.processes);
}

/// In what the two are two ways to train instead of one run before and after a change; fairness doesn't name what
/// comparisons are usually about. Empty: in nothing that both report.
std::string whyAnotherRun(const RunOutcome &base, const RunOutcome &next) {
    struct Trait {
        const char *label;
        std::string (*of)(const RunOutcome &); ///< empty: unknown
    };
    constexpr std::array<Trait, 4> traits = {
        {{"Method", methodSaid}, {"Method", methodSet}, {"Devices", devicesGiven}, {"Processes", processesOf}}};
    for (const Trait &trait : traits)
        if (const std::string a = trait.of(base), b = trait.of(next); !a.empty() && !b.empty() && a != b)
            return std::string(trait.label) + " " + b + " instead of " + a +
                   ": a check is of one run before and after a change. lockstepctl compare is for other methods or "
                   "devices";
    return {};
}

/// Why the two can't be compared; empty: they can.
std::string whyNotComparable(const PairJudgement &pair, const RepeatGroup &base, const RepeatGroup &next) {
    const auto isOneOf = [](const auto &keys, const FairnessFinding &finding) {
        return std::ranges::find(keys, finding.key) != keys.end();
    };
    for (const FairnessFinding &finding : pair.fairness)
        if (isOneOf(ofMachines, finding))
            return "another machine: " + finding.sentence;
    for (const FairnessFinding &finding : pair.fairness) {
        if (isOneOf(measuredWork, finding)) // however little: less work hides as small a slowdown
            return finding.sentence + " With --against, --max-steps gives both as much to do";
        if (finding.weight == FairnessWeight::Decisive &&
            finding.key != "script") // a change to it is what the gate judges
            return finding.sentence;
    }
    if (const std::string another = whyAnotherRun(base.runs.front(), next.runs.front()); !another.empty())
        return another;
    return !pair.otherEpochs.empty()
               ? pair.otherEpochs
               : whyWorkUnknown(withoutRounds(base, pair.disturbedRounds), withoutRounds(next, pair.disturbedRounds));
}

void decide(GateCase &out, const SpeedUp &speedUp, double mostSlower) {
    out.slower = 1 / speedUp.factor - 1;
    out.baseRepeats = speedUp.referenceRepeats;
    out.newRepeats = speedUp.runRepeats;
    if (!speedUp.hasInterval()) {
        out.reason = longer(out) + ", without an interval: three repeats of each are the least";
        return;
    }
    out.low = 1 / *speedUp.most - 1;
    out.high = 1 / *speedUp.least - 1;
    const std::string allowed = shareText(mostSlower) + " more";
    if (speedUp.isUnsettled())
        out.reason = longer(out) + ", but other programs were busy in too many rounds to say";
    else if (*out.low > mostSlower) {
        out.outcome = GateOutcome::Slower;
        out.reason = longer(out) + "; " + allowed + " is allowed";
    } else if (*out.high <= mostSlower) {
        out.outcome = GateOutcome::Passed;
        out.reason = longer(out) + "; " + allowed + " is allowed";
    } else
        out.reason = longer(out) + ": too wide to say whether it is over " + allowed + "; more repeats narrow it";
}

} // namespace

std::string_view toString(GateOutcome outcome) {
    switch (outcome) {
    case GateOutcome::Passed:
        return "passed";
    case GateOutcome::Slower:
        return "slower";
    case GateOutcome::Undecided:
        break;
    }
    return "undecided";
}

GateCase gateOf(const std::string &name, std::vector<RunOutcome> base, std::vector<RunOutcome> next,
                double mostSlower) {
    GateCase out;
    out.name = name;
    const std::string ofBase = countEachOnce(base), ofNext = countEachOnce(next);
    const std::string troubles = troublesOf(next);
    takeUnmeasuredOut(base);
    takeUnmeasuredOut(next);
    out.baseRepeats = int(base.size());
    out.newRepeats = int(next.size());
    out.reason = ofBase.empty() ? ofNext : ofBase;
    if (!out.reason.empty())
        return out;
    if (base.empty() || next.empty()) {
        out.reason = std::string("no repeat of ") + (base.empty() ? baseName : newName) +
                     " has finished with a training time" + (troubles.empty() ? "" : ": " + troubles);
        return out;
    }
    rename(base, baseName);
    rename(next, newName);
    std::vector<RunOutcome> all = std::move(base);
    std::ranges::move(next, std::back_inserter(all));
    const ResultTable table = resultTable(all, baseName, UnlikeWork::Together); // whose repeats they are was given
    if (table.rows.size() != 2) {
        out.reason =
            "its repeats were not all made by the same command with the same settings and files on the same machine";
        return out;
    }
    const Judgement judgement = judge(table, all, {});
    if (judgement.pairs.size() != 1 || !judgement.pairs.front().training) {
        out.reason = "its repeats have no training times that can be compared";
        return out;
    }
    const PairJudgement &pair = judgement.pairs.front();
    decide(out, *pair.training, mostSlower);
    considerTroubles(troubles, out);
    const std::vector<RepeatGroup> groups = groupsOf(table, all);
    if (const std::string why =
            whyNotComparable(pair, *findGroup(groups, pair.reference), *findGroup(groups, pair.run));
        !why.empty())
        saysNothing(out, why);
    return out;
}

void saysNothing(GateCase &one, const std::string &why) {
    one.outcome = GateOutcome::Undecided;
    one.reason = longer(one) + ", which says nothing: " + why;
}

GateOutcome worstOf(const std::vector<GateCase> &cases) {
    const auto any = [&](GateOutcome outcome) {
        return std::ranges::any_of(cases, [&](const GateCase &one) { return one.outcome == outcome; });
    };
    if (any(GateOutcome::Slower))
        return GateOutcome::Slower;
    return cases.empty() || any(GateOutcome::Undecided) ? GateOutcome::Undecided : GateOutcome::Passed;
}

std::string toJson(const std::vector<GateCase> &cases, double mostSlower) {
    Json json = {{"outcome", toString(worstOf(cases))}, {"max_slower", mostSlower}, {"runs", Json::array()}};
    for (const GateCase &one : cases)
        json["runs"].push_back({{"run", one.name},
                                {"outcome", toString(one.outcome)},
                                {"slower", orNull(one.slower)},
                                {"slower_low", orNull(one.low)},
                                {"slower_high", orNull(one.high)},
                                {"base_repeats", one.baseRepeats},
                                {"new_repeats", one.newRepeats},
                                {"reason", one.reason}});
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string toJUnit(const std::vector<GateCase> &cases) {
    const auto count = [&](GateOutcome outcome) {
        return QString::number(std::ranges::count(cases, outcome, &GateCase::outcome));
    };
    QByteArray out;
    QXmlStreamWriter xml(&out);
    xml.setAutoFormatting(true);
    xml.writeStartDocument();
    xml.writeStartElement(QStringLiteral("testsuite"));
    xml.writeAttribute(QStringLiteral("name"), QStringLiteral("lockstep check"));
    xml.writeAttribute(QStringLiteral("tests"), QString::number(cases.size()));
    xml.writeAttribute(QStringLiteral("failures"), count(GateOutcome::Slower));
    xml.writeAttribute(QStringLiteral("errors"), count(GateOutcome::Undecided));
    for (const GateCase &one : cases) {
        const QString reason = QString::fromStdString(allowedInXml(one.reason));
        xml.writeStartElement(QStringLiteral("testcase"));
        xml.writeAttribute(QStringLiteral("classname"), QStringLiteral("training time"));
        xml.writeAttribute(QStringLiteral("name"), QString::fromStdString(allowedInXml(one.name)));
        if (one.outcome == GateOutcome::Passed)
            xml.writeTextElement(QStringLiteral("system-out"), reason);
        else {
            xml.writeStartElement(one.outcome == GateOutcome::Slower ? QStringLiteral("failure")
                                                                     : QStringLiteral("error"));
            xml.writeAttribute(QStringLiteral("message"), reason);
            xml.writeEndElement();
        }
        xml.writeEndElement();
    }
    xml.writeEndElement();
    xml.writeEndDocument();
    return out.toStdString();
}

std::string toMarkdown(const std::vector<GateCase> &cases, double mostSlower) {
    std::string out = "**Training time: " + std::string(toString(worstOf(cases))) + "** (at most " +
                      shareText(mostSlower) + " more is allowed)\n\n" +
                      "| run | time added | 90 % interval | repeats | outcome |\n| --- | --- | --- | --- | --- |\n";
    for (const GateCase &one : cases) {
        out += "| " + markdownText(one.name) + " | " + shareText(one.slower) + " | " + rangeOf(one) + " | " +
               std::to_string(one.baseRepeats) + ", " + std::to_string(one.newRepeats) + " | " +
               std::string(toString(one.outcome)) + " |\n";
    }
    out += "\n";
    for (const GateCase &one : cases)
        out += "- " + markdownText(one.name + " " + one.reason) + ".\n";
    return out;
}

std::string toText(const std::vector<GateCase> &cases) {
    std::string out;
    for (const GateCase &one : cases)
        out += std::string(toString(one.outcome)) + "  " + one.name + " " + one.reason + "\n";
    return out;
}

} // namespace lockstep::core
