// SPDX-License-Identifier: MIT
#include "result_text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/compare/result_columns.h"
#include "analysis/compare/target_columns.h"
#include "base/format.h"
#include "export/report.h"
#include "ipc/phase_sums.h"
#include "ipc/printable.h"
#include "judgement_text.h"
#include "output.h"
#include "shown_rows.h"

namespace lockstep::cli {
namespace {

using core::ResultRow;
using core::ResultTable;
using Rows = std::vector<std::vector<std::string>>;

std::string share(std::optional<double> value, int decimals) {
    return core::percent(value, decimals).toStdString();
}

/// One row per epoch, two columns per run.
std::string epochText(const ResultTable &table, bool published, const ShownRows &shown, bool all) {
    Rows rows = {{"epoch"}};
    constexpr std::size_t mostColumns = 6; // fits a terminal's width
    std::size_t leftOut = 0;
    std::map<int, std::map<const ResultRow *, const core::MergedEpoch *>> epochs;
    std::vector<const ResultRow *> columns;
    for (const ResultRow &row : table.rows)
        if (row.published == published && !row.epochs.empty()) {
            if (!all && (columns.size() >= mostColumns || !(published || shown.has(row.name)))) {
                ++leftOut;
                continue;
            }
            columns.push_back(&row);
            for (const core::MergedEpoch &epoch : row.epochs)
                epochs[epoch.epoch][&row] = &epoch;
            rows.front().push_back(row.name + " loss");
            rows.front().push_back("s");
        }
    if (epochs.empty())
        return {};
    for (const auto &[epoch, known] : epochs) {
        std::vector<std::string> line = {std::to_string(epoch)};
        for (const ResultRow *row : columns) {
            const auto found = known.find(row);
            line.push_back(found != known.end() ? number(found->second->loss) : "-");
            line.push_back(
                found != known.end() ? number(found->second->durationS) + (found->second->part ? " (part)" : "") : "-");
        }
        rows.push_back(std::move(line));
    }
    return aligned(rows) + (leftOut > 0 ? "and " + std::to_string(leftOut) + " more: --all\n" : std::string());
}

/// The columns of resultColumns() that have a head for lockstepctl, and the chosen rows.
template <class Wanted>
Rows resultRows(const ResultTable &table, std::string_view core::ResultColumn::*head, Wanted wanted) {
    std::vector<const core::ResultColumn *> columns;
    for (const core::ResultColumn &column : core::resultColumns())
        if (!(column.*head).empty())
            columns.push_back(&column);
    // Sentences go last, so that they do not widen other columns.
    std::ranges::stable_partition(columns, [](const auto *column) { return column->key != "kind"; });
    Rows rows(1);
    for (const core::ResultColumn *column : columns)
        rows.front().emplace_back(column->*head);
    for (const ResultRow &row : table.rows)
        if (wanted(row)) {
            std::vector<std::string> &line = rows.emplace_back();
            for (const core::ResultColumn *column : columns)
                line.push_back(core::shownText(*column, row, core::ResultPlace::Terminal));
        }
    return rows;
}

std::string measuredText(const ResultTable &table, const ShownRows &shown) {
    return aligned(resultRows(table, &core::ResultColumn::measuredHead,
                              [&](const ResultRow &row) { return !row.published && shown.has(row.name); })) +
           moreLine(shown.leftOut);
}

/// The phases that add up to the training time of each run's slowest rank, or of a pipeline's mean stage.
std::string phaseText(const ResultTable &table, const ShownRows &shown) {
    Rows rows = {{"time in"}};
    for (const std::string_view phase : additivePhases())
        rows.front().emplace_back(phase);
    int leftOut = 0;
    for (const ResultRow &row : table.rows) {
        if (additiveSum(row.phasesS) <= 0)
            continue;
        if (!shown.has(row.name)) {
            ++leftOut;
            continue;
        }
        std::vector<std::string> line = {row.name};
        for (const std::string_view phase : additivePhases())
            line.push_back(share(additiveShare(row.phasesS, phase), 1));
        rows.push_back(std::move(line));
    }
    return rows.size() > 1 ? aligned(rows) + moreLine(leftOut) : std::string();
}

std::string metricsText(const ResultTable &table, const ShownRows &shown) {
    const core::TextTable metrics = core::metricsTable(table);
    Rows rows = {metrics.heads};
    for (const std::vector<std::string> &row : metrics.rows)
        if (shown.has(row.front()))
            rows.push_back(row);
    return rows.size() > 1 ? aligned(rows) : std::string();
}

/// The rows' notes, one line per note with its rows. Unfairness is part of the judgement.
std::string rowNotesText(const ResultTable &table) {
    std::vector<std::pair<std::string, std::vector<std::string>>> notes;
    std::unordered_map<std::string, std::size_t> places;
    for (const ResultRow &row : table.rows)
        for (const std::string &note : row.published ? std::vector<std::string>() : row.notes) {
            if (note.starts_with("unfair against "))
                continue;
            const auto [place, isNew] = places.try_emplace(note, notes.size());
            if (isNew)
                notes.emplace_back(note, std::vector<std::string>());
            notes[place->second].second.push_back(row.name);
        }
    std::string out;
    for (const auto &[note, names] : notes)
        out += "  " + listed(names) + ": " + note + "\n";
    return out;
}

std::string notesText(const ResultTable &table) {
    std::string out;
    for (const std::string &note : table.notes)
        out += "- " + onOneLine(note) + "\n";
    return out;
}

std::string publishedText(const ResultTable &table) {
    const Rows rows = resultRows(table, &core::ResultColumn::publishedHead, std::mem_fn(&ResultRow::published));
    return rows.size() > 1 ? aligned(rows) : std::string();
}

} // namespace

std::string targetText(const core::Target &target, const std::vector<core::TimeToTarget> &times) {
    std::vector<const core::TargetColumn *> columns;
    for (const core::TargetColumn &column : core::targetColumns())
        if (!column.terminalHead.empty())
            columns.push_back(&column);
    Rows rows(1);
    for (const core::TargetColumn *column : columns)
        rows.front().push_back(shownHead(*column, target, core::ResultPlace::Terminal));
    for (const core::TimeToTarget &time : times) {
        std::vector<std::string> &row = rows.emplace_back();
        for (const core::TargetColumn *column : columns)
            row.push_back(column->text(time, target.kind, core::ResultPlace::Terminal));
    }
    return "Training time to a target (evaluation and start-up left out; " + std::string(core::targetFiguresText) +
           ")\n" + aligned(rows);
}

std::string resultText(const ResultTable &table, const core::Judgement &judgement, bool all) {
    const ShownRows shown = shownRows(table, all);
    std::string out = table.title;
    if (!table.datasetNote.empty())
        out += " - " + table.datasetNote;
    out += "\n\n" + verdictText(table, judgement) + "\n";
    if (const std::string epochs = epochText(table, false, shown, all); !epochs.empty())
        out += "Loss and duration per epoch (medians over repeats)\n" + epochs + "\n";
    out += measuredText(core::judged(table, judgement), shown) + rowNotesText(table);
    if (const std::string phases = phaseText(table, shown); !phases.empty())
        out += "\nWhere the training time goes (the slowest rank's; of a pipeline, its stages' mean)\n" + phases;
    if (const std::string metrics = metricsText(table, shown); !metrics.empty())
        out += "\nMetrics (means of the last epoch that has them, rates of the whole run)\n" + metrics;
    if (const std::string published = publishedText(table); !published.empty())
        out += "\n" + published;
    if (const std::string judged = judgementText(judgement, shown, all); !judged.empty())
        out += "\n" + judged;
    if (const std::string notes = notesText(table); !notes.empty())
        out += "\n" + notes;
    return out;
}

} // namespace lockstep::cli
