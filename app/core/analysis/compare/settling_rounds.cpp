// SPDX-License-Identifier: MIT
#include "analysis/compare/settling_rounds.h"

#include <algorithm>

#include "base/format.h"

namespace lockstep::core {

int lackingRepeats(const SpeedUp &speedUp) {
    return repeatsForInterval - std::min(speedUp.referenceRepeats, speedUp.runRepeats);
}

std::optional<SuggestedRun> settlingRounds(const ResultTable &table, const std::vector<Settling> &open, int lacking) {
    std::optional<MoreRounds> more = roundsToSettle(open);
    if (lacking > 0 && (!more || more->rounds < lacking))
        more = {lacking, false, false};
    if (!more || !table.extendable)
        return std::nullopt;
    SuggestedRun out;
    out.experiment = table.experiment;
    out.rounds = more->rounds;
    out.name = std::to_string(more->rounds) + (more->rounds == 1 ? " repeat" : " repeats");
    if (table.roundS)
        out.name += ", about " + timeLeft(*table.roundS * more->rounds).toStdString();
    out.why =
        more->rounds == lacking ? "Every run so many times more, in rounds: with " +
                                      std::to_string(repeatsForInterval) + " repeats of each there are intervals."
        : more->forQuiet
            ? "Every run so many times more, in rounds: with three rounds without other programs there are intervals."
        : more->forWidth
            ? "Every run so many times more, in rounds: the 95 % intervals would then reach about ±5 %."
            : "Every run so many times more, in rounds: a difference of the size seen would then be beyond chance.";
    return out;
}

std::optional<SuggestedRun> quietRounds(const ResultTable &table, const SpeedUp &speedUp) {
    Settling open;
    open.quietLacking = lackingQuietRepeats(speedUp);
    return settlingRounds(table, {open}, 0);
}

std::string repeatsText(const SuggestedRun &rounds) {
    return "about " + std::to_string(rounds.rounds) + (rounds.rounds == 1 ? " more repeat" : " more repeats");
}

} // namespace lockstep::core
