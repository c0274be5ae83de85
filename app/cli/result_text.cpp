#include "result_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/format.h"
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
std::string dash(const std::string &text) {
    return text.empty() ? "-" : text;
}

/// A row an epoch; two columns a run.
std::string epochText(const ResultTable &table, bool published, const ShownRows &shown, bool all) {
    Rows rows = {{"epoch"}};
    constexpr std::size_t mostColumns = 6; // what a terminal is wide enough for
    std::size_t epochs = 0, leftOut = 0;
    std::vector<const ResultRow *> columns;
    for (const ResultRow &row : table.rows)
        if (row.published == published && !row.epochs.empty()) {
            if (!all && (columns.size() >= mostColumns || !(published || shown.has(row.name)))) {
                ++leftOut;
                continue;
            }
            columns.push_back(&row);
            epochs = std::max(epochs, row.epochs.size());
            rows.front().push_back(row.name + " loss");
            rows.front().push_back("s");
        }
    if (epochs == 0)
        return {};
    for (std::size_t i = 0; i < epochs; ++i) {
        std::vector<std::string> line = {std::to_string(i + 1)};
        for (const ResultRow *row : columns) {
            const bool known = i < row->epochs.size();
            line.push_back(known ? number(row->epochs[i].loss) : "-");
            line.push_back(known ? number(row->epochs[i].durationS) : "-");
        }
        rows.push_back(std::move(line));
    }
    return aligned(rows) + (leftOut > 0 ? "and " + std::to_string(leftOut) + " more: --all\n" : std::string());
}

std::string measuredText(const ResultTable &table, const ShownRows &shown) {
    Rows rows = {{"run", "backend", "workers", "repeats", "epoch s", "training s", "run s", "speed-up", "(run)",
                  "efficiency", "accuracy", "loss", "utilisation", "state"}};
    for (const ResultRow &row : table.rows)
        if (!row.published && shown.has(row.name))
            rows.push_back({row.name, dash(row.backend), row.workers ? std::to_string(*row.workers) : "-",
                            std::to_string(row.repeats) + "/" + std::to_string(row.planned), number(row.epochMedianS),
                            number(row.totalTrainingTimeS), number(row.runTimeS),
                            core::speedUp(row.speedUpTraining).toStdString(),
                            core::speedUp(row.speedUpRun).toStdString(), share(row.efficiency, 0),
                            share(row.testAccuracy, 2), number(row.finalLoss), dash(row.utilisation), row.state});
    return aligned(rows) + moreLine(shown.leftOut);
}

/// Where the training time went, of each run's slowest rank: the phases that add up to it.
std::string phaseText(const ResultTable &table, const ShownRows &shown) {
    Rows rows = {{"time in"}};
    for (const std::string_view phase : additivePhases())
        rows.front().emplace_back(phase);
    int leftOut = 0;
    for (const ResultRow &row : table.rows) {
        double sum = 0;
        for (const std::string_view phase : additivePhases())
            if (const auto found = row.phasesS.find(phase); found != row.phasesS.end())
                sum += found->second;
        if (sum <= 0)
            continue;
        if (!shown.has(row.name)) {
            ++leftOut;
            continue;
        }
        std::vector<std::string> line = {row.name};
        for (const std::string_view phase : additivePhases()) {
            const auto found = row.phasesS.find(phase);
            line.push_back(found == row.phasesS.end() ? "-" : share(found->second / sum, 1));
        }
        rows.push_back(std::move(line));
    }
    return rows.size() > 1 ? aligned(rows) + moreLine(leftOut) : std::string();
}

/// What rows say of themselves, a line a note with the rows that say it. That one is unfair stands with the judgement.
std::string rowNotesText(const ResultTable &table) {
    std::vector<std::pair<std::string, std::vector<std::string>>> notes;
    for (const ResultRow &row : table.rows)
        for (const std::string &note : row.published ? std::vector<std::string>() : row.notes) {
            if (note.starts_with("unfair against "))
                continue;
            const auto same = std::ranges::find(notes, note, &decltype(notes)::value_type::first);
            (same == notes.end() ? notes.emplace_back(note, std::vector<std::string>()) : *same)
                .second.push_back(row.name);
        }
    std::string out;
    for (const auto &[note, names] : notes)
        out += "  " + listed(names) + ": " + note + "\n";
    return out;
}

std::string notesText(const ResultTable &table) {
    std::string out;
    for (const std::string &note : table.notes)
        out += "- " + note + "\n";
    return out;
}

std::string publishedText(const ResultTable &table) {
    Rows rows = {
        {"published", "workers", "time s", "speed-up", "printed", "efficiency", "accuracy", "utilisation", "kind"}};
    for (const ResultRow &row : table.rows)
        if (row.published)
            rows.push_back({row.name, row.workers ? std::to_string(*row.workers) : "-", number(row.publishedTimeS),
                            core::speedUp(row.speedUpTraining).toStdString(),
                            core::speedUp(row.printedSpeedUp).toStdString(), share(row.efficiency, 0),
                            share(row.testAccuracy, 2), dash(row.utilisation), row.kind});
    return rows.size() > 1 ? aligned(rows) : std::string();
}

/// "×1.74 (×1.70 to ×1.78)"
std::string intervalText(const std::optional<core::SpeedUp> &speedUp) {
    if (!speedUp)
        return "-";
    std::string text = core::speedUp(speedUp->factor).toStdString();
    if (speedUp->hasInterval())
        text += " (" + core::speedUp(speedUp->low).toStdString() + " to " + core::speedUp(speedUp->high).toStdString() +
                ")";
    return text;
}

} // namespace

std::string targetText(const core::Target &target, const std::vector<core::TimeToTarget> &cells) {
    Rows rows = {{"to " + toText(target), "s", "fastest", "slowest", "reached", "speed-up", "how it is known"}};
    for (const core::TimeToTarget &cell : cells)
        rows.push_back({cell.cell, number(cell.seconds), number(cell.fastest), number(cell.slowest),
                        std::to_string(cell.reached) + " of " + std::to_string(cell.repeats.size()),
                        intervalText(cell.speedUp), cell.how});
    return "Training time to a target (evaluation and start-up left out)\n" + aligned(rows);
}

std::string resultText(const ResultTable &table, const core::Judgement &judgement, bool all) {
    const ShownRows shown = shownRows(table, all);
    std::string out = table.title;
    if (!table.datasetNote.empty())
        out += " - " + table.datasetNote;
    out += "\n\n" + verdictText(judgement) + "\n";
    if (const std::string epochs = epochText(table, false, shown, all); !epochs.empty())
        out += "Loss and duration per epoch (medians over repeats)\n" + epochs + "\n";
    out += measuredText(core::judged(table, judgement), shown) + rowNotesText(table);
    if (const std::string phases = phaseText(table, shown); !phases.empty())
        out += "\nWhere the training time goes (the slowest rank's)\n" + phases;
    if (const std::string published = publishedText(table); !published.empty())
        out += "\n" + published;
    if (const std::string judged = judgementText(judgement, shown, all); !judged.empty())
        out += "\n" + judged;
    if (const std::string notes = notesText(table); !notes.empty())
        out += "\n" + notes;
    return out;
}

} // namespace lockstep::cli
