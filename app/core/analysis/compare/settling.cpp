// SPDX-License-Identifier: MIT
#include "analysis/compare/settling.h"

#include <algorithm>
#include <cmath>

#include "analysis/compare/student.h"
#include "base/format.h"

namespace lockstep::core {
namespace {

constexpr double fivePercent = 0.05;

/// The least number of repeats of which an interval reaches no further than `reach`; `spread`: of one repeat.
std::optional<int> repeatsFor(double reach, double spread, IntervalMethod method, double confidence) {
    for (int repeats = repeatsForInterval; repeats <= mostRepeatsToSettle; ++repeats)
        if (studentQuantile(confidence, degreesOf(method, repeats)) * spread / std::sqrt(repeats) <= reach)
            return repeats;
    return std::nullopt;
}

/// How far the interval reaches on each side, in logarithms.
double reachOf(const SpeedUp &speedUp) {
    return std::log(*speedUp.high / *speedUp.low) / 2;
}

int repeatsOf(const SpeedUp &speedUp) {
    return std::min(speedUp.referenceRepeats, speedUp.runRepeats);
}

/// Of one repeat.
double spreadOf(const SpeedUp &speedUp) {
    const int repeats = repeatsOf(speedUp);
    return reachOf(speedUp) * std::sqrt(repeats) /
           studentQuantile(speedUp.confidence, degreesOf(speedUp.method, repeats));
}

/// Of so many rounds, between these marks; empty: unknown.
std::string timeText(std::optional<double> roundS, int rounds, const std::string &before, const std::string &after) {
    return roundS ? before + timeLeft(*roundS * rounds).toStdString() + after : std::string();
}

/// "12 (9 more, 4 min 10 s)"; absent: "more than 100".
std::string repeatsText(const std::optional<int> &wanted, const Settling &settling) {
    if (!wanted)
        return "more than " + std::to_string(mostRepeatsToSettle);
    const int more = std::max(1, *wanted - settling.repeats);
    return "about " + std::to_string(settling.repeats + more) + " (" + std::to_string(more) + " more" +
           timeText(settling.roundS, more, ", ", "") + ")";
}

} // namespace

int lackingQuietRepeats(const SpeedUp &speedUp) {
    return speedUp.isUnsettled() ? repeatsForInterval - speedUp.disturbance->quiet : 0;
}

std::optional<double> widthOf(const SpeedUp &speedUp) {
    return speedUp.hasInterval() ? std::optional(std::expm1(reachOf(speedUp))) : std::nullopt;
}

std::optional<int> repeatsForWidth(const SpeedUp &speedUp, double width) {
    if (!speedUp.hasInterval())
        return std::nullopt;
    return repeatsFor(std::log1p(width), spreadOf(speedUp), speedUp.method, speedUp.confidence);
}

std::optional<Settling> settlingOf(const SpeedUp &speedUp, std::optional<double> roundS) {
    if (!speedUp.hasInterval() || speedUp.isDifferent() || speedUp.isEqual())
        return std::nullopt;
    Settling out;
    out.repeats = repeatsOf(speedUp);
    out.roundS = roundS;
    out.quietLacking = lackingQuietRepeats(speedUp);
    if (out.quietLacking > 0)
        return out;
    out.forFivePercent = repeatsForWidth(speedUp, fivePercent);
    out.forDifference = repeatsFor(std::fabs(std::log(speedUp.factor)), spreadOf(speedUp), speedUp.method,
                                   1 - (1 - speedUp.confidence) / std::max(1, speedUp.comparisons));
    return out;
}

std::string_view whatRepeatsDo(const Settling &settling, int more) {
    if (settling.quietLacking > 0)
        return more >= settling.quietLacking ? wouldGiveInterval : std::string_view();
    const int all = settling.repeats + more;
    if (settling.forDifference && *settling.forDifference <= all)
        return wouldTell;
    const auto width = settling.forFivePercent;
    return width && *width > settling.repeats && *width <= all ? "would narrow it to ±5 %" : std::string_view();
}

std::string settlingText(const Settling &settling) {
    if (settling.quietLacking > 0)
        return std::to_string(settling.quietLacking) + (settling.quietLacking == 1 ? " more repeat" : " more repeats") +
               " of each on a quiet machine" + timeText(settling.roundS, settling.quietLacking, " (", ")") +
               ": then three rounds without other programs give an interval.";
    if (!settling.forDifference && !settling.forFivePercent)
        return "Neither the difference seen nor an interval within ±5 % is in reach of " +
               std::to_string(mostRepeatsToSettle) + " repeats: make the machine quieter first.";
    const std::string difference =
        "Repeats needed to tell the difference seen: " + repeatsText(settling.forDifference, settling);
    if (settling.forFivePercent && *settling.forFivePercent <= settling.repeats)
        return difference + "; the interval is within ±5 % already.";
    return difference + "; for an interval within ±5 %: " + repeatsText(settling.forFivePercent, settling) + ".";
}

std::optional<MoreRounds> roundsToSettle(const std::vector<Settling> &all) {
    std::optional<MoreRounds> out;
    for (const bool forWidth : {true, false}) {
        for (const Settling &one : all)
            if (const std::optional<int> wanted = forWidth ? one.forFivePercent : one.forDifference;
                wanted && *wanted > one.repeats && (!out || out->rounds < *wanted - one.repeats))
                out = {*wanted - one.repeats, forWidth, false};
        if (out)
            break;
    }
    for (const Settling &one : all)
        if (one.quietLacking > (out ? out->rounds : 0))
            out = {one.quietLacking, false, true};
    return out;
}

} // namespace lockstep::core
