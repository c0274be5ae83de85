// SPDX-License-Identifier: MIT
#include "ipc/stage_plan.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace lockstep {
namespace {

constexpr std::size_t playedSteps = 4; ///< the last of them is what a step takes

constexpr double worthMoving = 1e-6; ///< of a step: less is a rounding

/// A stage while steps are played. Micro-batches are numbered on from step to step.
struct PlayedStage {
    std::vector<StageAction> actions; ///< of a step
    std::size_t done = 0;             ///< actions, of all steps
    double freeS = 0;
    std::vector<double> beganS; ///< each step
    double busyS = 0;
    std::size_t held = 0, kept = 0;
    /// When the activations were at the next stage, and their gradients at the one before, by micro-batch, in order.
    std::vector<double> activationsThereS, gradientsThereS;
};

/// When the message of that number is there; nothing: it is not sent yet.
std::optional<double> thereS(const std::vector<double> &messages, std::size_t number) {
    return number < messages.size() ? std::optional(messages[number]) : std::nullopt;
}

/// Whether the stage has what its next action needs, and since when.
std::optional<double> readyS(const std::vector<PlayedStage> &all, std::size_t stage, StageAction::Kind kind,
                             std::size_t number) {
    if (kind == StageAction::Forward)
        return stage == 0 ? 0 : thereS(all[stage - 1].activationsThereS, number);
    return stage + 1 == all.size() ? 0 : thereS(all[stage + 1].gradientsThereS, number);
}

void send(std::vector<double> &messages, double atS, double tookS) {
    messages.push_back(std::max(atS, messages.empty() ? 0 : messages.back()) + tookS);
}

/// The stage's actions up to the first that needs what is not there yet. Whether there was any.
bool play(std::vector<PlayedStage> &all, std::size_t stage, const std::vector<StageTimes> &times,
          std::size_t microBatches) {
    PlayedStage &own = all[stage];
    const std::size_t before = own.done;
    while (own.done < playedSteps * own.actions.size()) {
        const std::size_t step = own.done / own.actions.size(), action = own.done % own.actions.size();
        const auto [kind, micro] = own.actions[action];
        const auto ready = readyS(all, stage, kind, step * microBatches + micro);
        if (!ready)
            break;
        const bool forward = kind == StageAction::Forward;
        const double tookS = forward ? times[stage].forwardS : times[stage].backwardS;
        if (action == 0)
            own.beganS.push_back(own.freeS);
        own.freeS = std::max(own.freeS, *ready) + tookS;
        own.busyS += tookS / double(playedSteps);
        if (forward) {
            own.kept = std::max(own.kept, ++own.held);
            send(own.activationsThereS, own.freeS, times[stage].messageS);
        } else {
            --own.held;
            send(own.gradientsThereS, own.freeS, stage > 0 ? times[stage - 1].messageS : 0);
        }
        if (++own.done % own.actions.size() == 0)
            own.freeS += times[stage].betweenS;
    }
    return own.done > before;
}

/// The stages' times if they are cut so.
std::vector<StageTimes> timesOf(const CutCosts &costs, const std::vector<std::size_t> &begins) {
    std::vector<StageTimes> times(costs.layers.size());
    for (std::size_t stage = 0; stage < times.size(); ++stage) {
        for (std::size_t layer = begins[stage]; layer < begins[stage + 1]; ++layer) {
            times[stage].forwardS += costs.layers[stage][layer].forwardS;
            times[stage].backwardS += costs.layers[stage][layer].backwardS;
        }
        if (stage + 1 == times.size())
            continue;
        const double wayS = costs.messageS[stage][begins[stage + 1] - 1];
        if (!costs.messagesAreWork) {
            times[stage].messageS = wayS;
            continue;
        }
        for (StageTimes *end : {&times[stage], &times[stage + 1]}) { // one message of each direction
            end->forwardS += wayS;
            end->backwardS += wayS;
        }
    }
    return times;
}

} // namespace

std::vector<std::size_t> splitLayers(const std::vector<std::vector<double>> &seconds,
                                     const std::vector<std::vector<double>> &messages) {
    const std::size_t stages = seconds.size(), layers = seconds.front().size();
    const auto messageS = [&](std::size_t sender, std::size_t cutAt) {
        return sender < messages.size() ? messages[sender][cutAt - 1] : 0;
    };
    // slowest[s][n]: the least possible time of the slowest of s stages that hold the first n layers; cut[s][n]: where the last of
    // them then begins.
    std::vector<std::vector<double>> slowest(stages + 1,
                                             std::vector<double>(layers + 1, std::numeric_limits<double>::infinity()));
    std::vector<std::vector<std::size_t>> cut(stages + 1, std::vector<std::size_t>(layers + 1, 0));
    slowest[0][0] = 0;
    for (std::size_t s = 1; s <= stages; ++s)
        for (std::size_t n = s; n <= layers; ++n) {
            double last = messageS(s - 1, n);
            for (std::size_t from = n; from-- > s - 1;) {
                last += seconds[s - 1][from];
                const double received = s > 1 ? messageS(s - 2, from) : 0;
                const double time = std::max(slowest[s - 1][from], last + received);
                if (time < slowest[s][n]) {
                    slowest[s][n] = time;
                    cut[s][n] = from;
                }
            }
        }
    std::vector<std::size_t> begins(stages + 1, layers);
    for (std::size_t s = stages; s > 0; --s)
        begins[s - 1] = cut[s][begins[s]];
    return begins;
}

std::vector<std::size_t> cutLayers(std::string_view schedule, std::size_t microBatches, const CutCosts &costs) {
    std::vector<std::vector<double>> seconds, messages;
    for (const auto &stage : costs.layers) {
        seconds.emplace_back();
        for (const LayerTime &layer : stage)
            seconds.back().push_back(layer.bothS());
    }
    for (const auto &stage : costs.messageS) {
        messages.emplace_back();
        for (const double wayS : stage)
            messages.back().push_back(2 * wayS); // there and back
    }
    const auto stepS = [&](const std::vector<std::size_t> &begins) {
        return playSteps(schedule, timesOf(costs, begins), microBatches).stepS;
    };
    std::vector<std::size_t> begins = splitLayers(seconds, messages);
    double leastS = stepS(begins);
    for (bool better = true; better;) {
        better = false;
        const std::vector<std::size_t> from = begins;
        for (std::size_t stage = 1; stage + 1 < from.size(); ++stage)
            for (const std::size_t border : {from[stage] - 1, from[stage] + 1}) {
                if (border <= from[stage - 1] || border >= from[stage + 1]) // a stage without layers
                    continue;
                std::vector<std::size_t> moved = from;
                moved[stage] = border;
                if (const double tookS = stepS(moved); tookS < leastS * (1 - worthMoving)) {
                    leastS = tookS;
                    begins = moved;
                    better = true;
                }
            }
    }
    return begins;
}

std::vector<StageAction> stageActions(std::string_view schedule, std::size_t stage, std::size_t stages,
                                      std::size_t microBatches) {
    const std::size_t ahead = schedule == "gpipe" ? microBatches : std::min(microBatches, 2 * (stages - stage - 1));
    std::vector<StageAction> actions;
    std::size_t forward = 0, backward = 0;
    while (forward < ahead)
        actions.push_back({StageAction::Forward, forward++});
    while (forward < microBatches) {
        actions.push_back({StageAction::Forward, forward++});
        actions.push_back({StageAction::Backward, backward++});
    }
    while (backward < microBatches)
        actions.push_back({StageAction::Backward, backward++});
    return actions;
}

PlayedStep playSteps(std::string_view schedule, const std::vector<StageTimes> &stages, std::size_t microBatches) {
    std::vector<PlayedStage> all(stages.size());
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
        all[stage].actions = stageActions(schedule, stage, stages.size(), microBatches);
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t stage = 0; stage < stages.size(); ++stage)
            moved = play(all, stage, stages, microBatches) || moved;
    }
    PlayedStep out;
    const PlayedStage &first = all.front();
    out.stepS = first.freeS - first.beganS.back();
    for (const PlayedStage &stage : all) {
        out.busyS.push_back(stage.busyS);
        out.kept.push_back(stage.kept);
    }
    return out;
}

} // namespace lockstep
