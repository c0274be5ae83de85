// SPDX-License-Identifier: MIT
// The sections below the result table in every document, besides charts.
#include <algorithm>

#include "analysis/compare/target_columns.h"
#include "analysis/compare/verdict_lines.h"
#include "base/format.h"
#include "export/report.h"

namespace lockstep::core {
namespace {

TextTable emptyTable(std::vector<std::string> heads, std::size_t words) {
    TextTable out;
    for (std::size_t i = 0; i < heads.size(); ++i)
        out.numbers.push_back(i >= words);
    out.heads = std::move(heads);
    return out;
}

/// One row per run: from the reference's time to its own, cause by cause.
ReportSection causesSection(const Judgement &judgement) {
    ReportSection out{"causes",
                      "Where the differences come from",
                      "From the reference's time to the run's, launch to exit; + costs time, \u2212 saves it; ± 95 %.",
                      emptyTable({"Run", "Reference's time"}, 1),
                      {}};
    for (const PairJudgement &pair : judgement.pairs) {
        if (!pair.attribution)
            continue;
        const Attribution &found = *pair.attribution;
        if (out.table.rows.empty()) {
            for (const Cause cause : allCauses)
                out.table.heads.emplace_back(toString(cause));
            out.table.heads.emplace_back("Run's time");
            out.table.numbers.resize(out.table.heads.size(), true);
        }
        std::vector<std::string> row = {pair.run, seconds(found.referenceS).toStdString()};
        for (const Cause cause : allCauses) {
            const AttributionBar *bar = found.barOf(cause);
            row.push_back(bar ? addedSeconds(bar->seconds, bar->reach(), found.longerS()).toStdString() : "-");
        }
        row.push_back(seconds(found.runS).toStdString());
        out.table.rows.push_back(std::move(row));
    }
    return out;
}

/// The effect of each changed setting by itself.
ReportSection settingsSection(const Judgement &judgement) {
    ReportSection out{
        "settings",
        "One setting at a time",
        "What each changed setting adds to the time by itself: the mean over the orders in which they can "
        "be changed, and both extremes; by control runs that were measured.",
        emptyTable({"Run", "Setting", "Control runs", "Adds", "Least", "Most"}, 3),
        {}};
    for (const PairJudgement &pair : judgement.pairs)
        if (pair.attribution)
            for (const FactorEffect &factor : pair.attribution->factors) {
                std::vector<std::string> row = {pair.run, factor.label, joinedText(factor.controls)};
                for (const double added : {factor.seconds, factor.low, factor.high})
                    row.push_back(addedSeconds(added, pair.attribution->longerS()).toStdString());
                out.table.rows.push_back(std::move(row));
            }
    return out;
}

ReportSection missingSection(const Judgement &judgement) {
    ReportSection out{
        "missing-controls", "Missing controls", "Runs that would separate the effects of the settings.", {}, {}};
    for (const PairJudgement &pair : judgement.pairs)
        if (pair.attribution)
            for (const SuggestedRun &control : pair.attribution->missing)
                out.lines.push_back(pair.run + ": " + control.name + ". " + control.why);
    return out;
}

ReportSection fairnessSection(const Judgement &judgement) {
    ReportSection out{"fairness", "Is the comparison fair?", {}, {}, {}};
    for (const FairnessWeight weight : {FairnessWeight::Decisive, FairnessWeight::Notable, FairnessWeight::Minor})
        for (const PairJudgement &pair : judgement.pairs)
            for (const FairnessFinding &finding : pair.fairness)
                if (finding.weight == weight)
                    out.lines.push_back(pair.run + " against " + pair.reference + ", " + std::string(toString(weight)) +
                                        ": " + finding.sentence +
                                        (finding.control ? " Control: " + toText(*finding.control) + "." : ""));
    if (out.lines.empty() && !judgement.pairs.empty())
        out.said = "No unintended difference found.";
    return out;
}

ReportSection boundsSection(const Judgement &judgement) {
    ReportSection out{"bounds", "What bounds each run", {}, {}, {}};
    for (const Bottleneck &each : judgement.bottlenecks) {
        std::string line = each.run + ": " + std::string(toString(each.bound)) + ". " + each.evidence;
        for (const SuggestedRun &tip : each.tips)
            line += " Try " + tip.name + ": " + tip.why;
        out.lines.push_back(std::move(line));
    }
    return out;
}

ReportSection targetSection(const Report &report) {
    ReportSection out{"target", "Time to target", {}, {}, {}};
    if (!report.target)
        return out;
    out.said =
        "Training time to " + toText(*report.target) + ", without evaluation and start-up; " + targetFiguresText + ".";
    std::vector<const TargetColumn *> columns;
    for (const TargetColumn &column : targetColumns())
        if (column.inReport)
            columns.push_back(&column);
    std::ranges::stable_partition(columns, [](const TargetColumn *column) { return column->words; });
    for (const TargetColumn *column : columns) {
        out.table.heads.push_back(shownHead(*column, *report.target, ResultPlace::Report));
        out.table.numbers.push_back(!column->words);
    }
    for (const TimeToTarget &time : report.times) {
        std::vector<std::string> &row = out.table.rows.emplace_back();
        for (const TargetColumn *column : columns)
            row.push_back(column->text(time, report.target->kind, ResultPlace::Report));
    }
    return out;
}

ReportSection metricsSection(const ResultTable &table) {
    return {
        "metrics",
        "Metrics",
        "Over all ranks: a mean is of the last epoch that has it, a rate of the whole run; medians over the repeats.",
        metricsTable(table),
        {}};
}

} // namespace

TextTable verdictTable(const Judgement &judgement) {
    TextTable out = emptyTable({"Run", "Verdict", "Speed-up (95 %)", "Why"}, 4);
    for (const VerdictLine &line : judgement.lines) {
        const std::string figures = figuresText(line);
        out.rows.push_back({nameOf(line), std::string(toString(line.outcome)), figures.empty() ? "-" : figures,
                            line.reason.empty() ? "-" : line.reason});
    }
    return out;
}

std::vector<ReportSection> reportSections(const Report &report) {
    const Judgement &judgement = report.judgement;
    std::vector<ReportSection> out = {
        causesSection(judgement), settingsSection(judgement), missingSection(judgement),   fairnessSection(judgement),
        boundsSection(judgement), targetSection(report),      metricsSection(report.table)};
    std::erase_if(out, [](const ReportSection &section) {
        return section.table.rows.empty() && section.lines.empty() &&
               (section.key != "fairness" || section.said.empty());
    });
    return out;
}

} // namespace lockstep::core
