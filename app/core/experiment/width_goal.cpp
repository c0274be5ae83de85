// SPDX-License-Identifier: MIT
#include "experiment/width_goal.h"

#include <algorithm>

#include <QString>

#include "base/format.h"

namespace lockstep::core {
namespace {

constexpr double leastPercent = 0.1, mostPercent = 100;

std::string roundsText(int rounds) {
    return std::to_string(rounds) + (rounds == 1 ? " round" : " rounds");
}

} // namespace

Result<double> widthFrom(std::string_view text) {
    QString number = QString::fromUtf8(text.data(), qsizetype(text.size())).trimmed();
    const bool percent = number.endsWith(u'%');
    number.chop(percent ? 1 : 0);
    bool isNumber = false;
    const double value = number.trimmed().toDouble(&isNumber);
    if (!isNumber || !percent || !(value >= leastPercent && value <= mostPercent))
        return fail(Error::badArgument("\"" + std::string(text.substr(0, 40)) + "\" is not a width",
                                       "give a percentage from 0.1% to 100%, e.g. 5%"));
    return value / 100;
}

std::string widthText(double width) {
    const double percent = width * 100;
    return "±" + QString::number(percent, percent < 1000 ? 'g' : 'f', percent < 1000 ? 3 : 0).toStdString() + " %";
}

std::optional<Error> mistakeOf(const WidthGoal &goal, int rounds) {
    if (rounds < leastRoundsOfGoal)
        return Error::badArgument(roundsText(rounds) + " can't be the first of an experiment that stops at a width",
                                  "an interval takes 3 rounds: omit repeats, or set it to 3 and more", "repeats");
    if (goal.mostRounds < rounds || goal.mostRounds > mostRoundsOfGoal)
        return Error::badArgument("at most " + roundsText(goal.mostRounds) + " can't be kept by an experiment of " +
                                      roundsText(rounds) + " to begin with",
                                  "use " + std::to_string(rounds) + " to " + std::to_string(mostRoundsOfGoal),
                                  "at_most");
    return std::nullopt;
}

std::string roundsNote(int rounds, const std::optional<WidthGoal> &goal) {
    if (goal)
        return "Rounds are added until every 95 % interval is within " + widthText(goal->width) + ", " +
               std::to_string(goal->mostRounds) + " at most.";
    if (rounds >= leastRoundsOfGoal)
        return {};
    return (rounds == 1 ? "One repeat gives" : std::to_string(rounds) + " repeats give") +
           std::string(" no interval; take 3 or more.");
}

int roundsToAdd(const WidthGoal &goal, const WidthReached &reached) {
    const bool nothingToCompare = !reached.width && reached.run.empty();
    return reached.narrow || nothingToCompare ? 0 : std::clamp(goal.mostRounds - reached.rounds, 0, roundsAddedAtOnce);
}

std::string progressText(const WidthProgress &progress, std::optional<double> roundS) {
    const std::string goal = widthText(progress.goal.width);
    const std::string most = std::to_string(progress.goal.mostRounds);
    if (!progress.reached)
        return progress.settled ? "Stopped before the intervals could be seen."
                                : roundsNote(progress.goal.mostRounds, progress.goal);
    const WidthReached &reached = *progress.reached;
    const std::string after = roundsText(reached.rounds);
    if (!reached.width)
        return reached.run.empty() ? "After " + after + " no run stands beside the reference."
                                   : "After " + after + " " + reached.run + " has no interval yet.";
    const std::string widest = widthText(*reached.width) + " (" + reached.run + ")";
    if (reached.narrow)
        return "After " + after + " every 95 % interval lies within " + goal + " of its factor: the widest reaches " +
               widest + ".";
    if (progress.settled)
        return "Stopped after " + after + ", of " + most + " at most: the widest interval reaches " + widest +
               ", not yet " + goal + ".";
    std::string out = "After " + after + " the widest interval reaches " + widest + "; " + goal;
    if (!reached.expected)
        return out + " is not expected within " + most + " rounds.";
    out += " is expected after about " + roundsText(*reached.expected);
    if (roundS)
        out += ", " + timeLeft(*roundS * (*reached.expected - reached.rounds)).toStdString() + " more";
    return out + ".";
}

} // namespace lockstep::core
