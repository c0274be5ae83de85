#include "analysis/verdict.h"

#include <algorithm>

#include "analysis/format.h"
#include "analysis/result_table.h"
#include "analysis/statistics.h"

namespace lockstep::core {
namespace {

std::string rangeText(const ResultRow &row, const SpeedUp &interval) {
    return row.name + " " + speedUp(*interval.low).toStdString() + " to " + speedUp(*interval.high).toStdString();
}

std::string againstReference(const ResultRow &row, const std::string &reference) {
    const double factor = *row.speedUpTraining;
    return row.name +
           (factor >= 1 ? " trains " + significant(factor).toStdString() + " times as fast as "
                        : " takes " + significant(1 / factor).toStdString() + " times as long as ") +
           reference;
}

const ResultRow *referenceOf(const ResultTable &table) {
    const auto found = std::find_if(table.rows.begin(), table.rows.end(),
                                    [](const ResultRow &row) { return row.reference && !row.published; });
    return found == table.rows.end() ? nullptr : &*found;
}

void append(std::string &text, const char *separator, const std::string &part) {
    text += (text.empty() ? "" : separator) + part;
}

} // namespace

VerdictText verdictText(const ResultTable &table) {
    VerdictText out;
    const ResultRow *reference = referenceOf(table);
    if (!reference)
        return out;
    std::string ranges;
    std::size_t least = reference->trainingTimesS.size();
    for (const ResultRow &row : table.rows) {
        if (row.published || row.reference || !row.speedUpTraining)
            continue;
        least = std::min(least, row.trainingTimesS.size());
        const auto interval = speedUpOf(reference->trainingTimesS, row.trainingTimesS);
        const bool told = interval && interval->hasInterval();
        if (told)
            append(ranges, ", ", rangeText(row, *interval));
        append(out.sentence, "; ",
               told && !interval->isDifferent() ? row.name + " and " + table.reference + " can't be told apart"
                                                : againstReference(row, table.reference));
    }
    if (out.sentence.empty())
        return out;
    out.sentence += ".";
    if (!ranges.empty())
        out.spread = "Speed-up with its 95 % interval: " + ranges + ". ";
    if (least >= std::size_t(repeatsForInterval))
        out.spread += "Medians of at least " + std::to_string(least) + " repeats each.";
    else if (!ranges.empty())
        out.spread += "With fewer than three repeats of either no interval is given.";
    else
        out.spread = std::string(least <= 1 ? "One run each" : "2 repeats each") +
                     ": no interval below three repeats; differences of a few percent can be chance.";
    return out;
}

} // namespace lockstep::core
