// SPDX-License-Identifier: MIT
// A judgement as JSON: the same numbers as on screen.
#include <cmath>

#include <nlohmann/json.hpp>

#include "analysis/compare/judgement.h"
#include "experiment/claims_json_detail.h"
#include "ipc/json_or_null.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

Json jsonOf(const std::optional<StandingOut> &leftOut) {
    if (!leftOut)
        return nullptr;
    return {{"of", leftOut->ofFirst ? "reference" : "run"},
            {"place", leftOut->index + 1},
            {"repeat", leftOut->number},
            {"times_as_long_as_the_others", std::exp(leftOut->above)},
            {"p", leftOut->chance}};
}

Json jsonOf(const std::optional<Disturbance> &disturbance) {
    if (!disturbance)
        return nullptr;
    return {{"rounds", disturbance->rounds},
            {"cores", disturbance->cores},
            {"quiet_repeats", disturbance->quiet},
            {"left_out", disturbance->isLeftOut()}};
}

Json jsonOf(const std::optional<SpeedUp> &speedUp) {
    if (!speedUp)
        return nullptr;
    return {{"factor", speedUp->factor},
            {"low", orNull(speedUp->low)},
            {"high", orNull(speedUp->high)},
            {"different", speedUp->hasInterval() ? Json(speedUp->isDifferent()) : Json(nullptr)},
            {"equal_within_3_percent", speedUp->hasInterval() ? Json(speedUp->isEqual()) : Json(nullptr)},
            {"interval_method", speedUp->hasInterval() ? Json(toString(speedUp->method)) : Json(nullptr)},
            {"left_out", jsonOf(speedUp->leftOut)},
            {"disturbed", jsonOf(speedUp->disturbance)},
            {"p", speedUp->hasInterval() ? Json(speedUp->chance) : Json(nullptr)},
            {"comparisons", speedUp->comparisons},
            {"reference_repeats", speedUp->referenceRepeats},
            {"run_repeats", speedUp->runRepeats}};
}

Json jsonOf(const std::optional<Settling> &settling) {
    if (!settling)
        return nullptr;
    return {{"repeats", settling->repeats},
            {"repeats_for_difference", orNull(settling->forDifference)},
            {"repeats_for_5_percent", orNull(settling->forFivePercent)},
            {"quiet_repeats_lacking", settling->quietLacking},
            {"round_s", orNull(settling->roundS)}};
}

Json jsonOf(const SuggestedRun &run) {
    Json json = {{"name", run.name}, {"why", run.why}, {"config", Json::parse(toJson(run.config, run.claims))}};
    if (!run.command.empty())
        json["command"] = run.command;
    putClaims(run.claims, json);
    if (!run.again.empty()) // runs made again in their place
        json["again"] = run.again;
    return json;
}

Json jsonOf(const std::optional<AdjustedFactor> &adjusted) {
    if (!adjusted)
        return nullptr;
    return {{"factor", adjusted->factor},        {"low", adjusted->low},         {"high", adjusted->high},
            {"log_per_core", adjusted->perCore}, {"repeats", adjusted->repeats}, {"degrees", adjusted->degrees}};
}

Json jsonOf(const SharedLoad &load) {
    return {{"key", load.key},
            {"low_cores", load.low},
            {"high_cores", load.high},
            {"low_excess_cores", load.excessLow},
            {"high_excess_cores", load.excessHigh},
            {"sentence", load.sentence}};
}

Json jsonOf(const OrderEffect &effect) {
    return {{"key", effect.key},     {"change", effect.change}, {"p", effect.p},
            {"pairs", effect.pairs}, {"blocks", effect.blocks}, {"sentence", orNull(effect.sentence)}};
}

template <class T> Json listOf(const std::vector<T> &all, Json (*toJson)(const T &)) {
    Json json = Json::array();
    for (const T &one : all)
        json.push_back(toJson(one));
    return json;
}

Json jsonOf(const FairnessFinding &finding) {
    return {{"key", finding.key},
            {"label", finding.label},
            {"reference", finding.reference},
            {"run", finding.run},
            {"weight", std::string(toString(finding.weight))},
            {"sentence", finding.sentence},
            {"control", finding.control ? jsonOf(*finding.control) : Json(nullptr)}};
}

Json jsonOf(const AttributionBar &bar) {
    return {{"cause", std::string(toString(bar.cause))},
            {"change_s", bar.seconds},
            {"low_s", orNull(bar.low)},
            {"high_s", orNull(bar.high)}};
}

Json jsonOf(const FactorEffect &factor) {
    return {{"key", factor.key},   {"label", factor.label}, {"change_s", factor.seconds},
            {"low_s", factor.low}, {"high_s", factor.high}, {"controls", factor.controls}};
}

Json jsonOf(const std::optional<Attribution> &attribution) {
    if (!attribution)
        return nullptr;
    return {{"reference", attribution->reference},
            {"run", attribution->run},
            {"training_only", attribution->trainingOnly},
            {"reference_s", attribution->referenceS},
            {"run_s", attribution->runS},
            {"bars", listOf(attribution->bars, jsonOf)},
            {"unattributed_share", attribution->unattributedShare()},
            {"factors", listOf(attribution->factors, jsonOf)},
            {"missing_controls", listOf(attribution->missing, jsonOf)},
            {"notes", attribution->notes}};
}

Json jsonOf(const PairJudgement &pair) {
    return {{"reference", pair.reference},
            {"run", pair.run},
            {"devices", pair.devices},
            {"other_work", pair.otherWork},
            {"speed_up_training", pair.otherWork ? Json(nullptr) : jsonOf(pair.training)},
            {"speed_up_epoch", jsonOf(pair.epoch)},
            {"speed_up_run", jsonOf(pair.wholeRun)},
            {"efficiency", orNull(pair.efficiency)},
            {"adjusted_for_load", jsonOf(pair.adjusted)},
            {"settling", jsonOf(pair.settling)},
            {"accuracy_difference", orNull(pair.accuracyDifference)},
            {"loss_difference", orNull(pair.lossDifference)},
            {"fairness", listOf(pair.fairness, jsonOf)},
            {"attribution", jsonOf(pair.attribution)}};
}

Json jsonOf(const VerdictLine &line) {
    Json failed = Json::array();
    for (const FailedRepeat &one : line.failed)
        failed.push_back({{"repeat", one.repeat}, {"run", orNull(one.run)}, {"reason", one.reason}});
    return {{"run", line.run},
            {"against", line.against},
            {"outcome", keyOf(line.outcome)},
            {"speed_up_training", jsonOf(line.speedUp)},
            {"efficiency", orNull(line.efficiency)},
            {"reason", orNull(line.reason)},
            {"failed_repeats", failed}};
}

Json roundsJson(const std::optional<SuggestedRun> &rounds) {
    if (!rounds)
        return nullptr;
    return {
        {"experiment", rounds->experiment}, {"rounds", rounds->rounds}, {"name", rounds->name}, {"why", rounds->why}};
}

Json jsonOf(const Bottleneck &bottleneck) {
    return {{"run", bottleneck.run},
            {"bound", std::string(toString(bottleneck.bound))},
            {"share", orNull(bottleneck.share)},
            {"evidence", bottleneck.evidence},
            {"tips", listOf(bottleneck.tips, jsonOf)}};
}

} // namespace

std::string toJson(const Judgement &judgement) {
    const Json json = {{"reference", judgement.reference.empty() ? Json(nullptr) : Json(judgement.reference)},
                       {"lines", listOf(judgement.lines, jsonOf)},
                       {"sentence", judgement.sentence.empty() ? Json(nullptr) : Json(judgement.sentence)},
                       {"reservations", judgement.reservations},
                       {"suggested_rounds", roundsJson(judgement.settling)},
                       {"pairs", listOf(judgement.pairs, jsonOf)},
                       {"shared_loads", listOf(judgement.sharedLoads, jsonOf)},
                       {"order_effects", listOf(judgement.orderEffects, jsonOf)},
                       {"bottlenecks", listOf(judgement.bottlenecks, jsonOf)}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace lockstep::core
