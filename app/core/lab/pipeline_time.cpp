// SPDX-License-Identifier: MIT
#include "lab/pipeline_time.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace lockstep::core {
namespace {

/// From that stage to the next one, after this layer.
std::optional<Prediction> messageOf(std::size_t stage, const LayerCost &last, const PipelinePlan &plan,
                                    const CommunicationModel &communication) {
    const bool leaves = stage < plan.leavesNode.size() && plan.leavesNode[stage];
    const double bytes = last.outputBytesPerSample * double(plan.samples);
    const auto asInTraining = communication.predict(leaves ? messageBetweenNodes : messageInTraining, 2, bytes);
    return asInTraining ? asInTraining // else of an older lab, or on GPUs
                        : communication.predict(leaves ? pairBetweenNodes : pairOfRanks, 2, bytes);
}

/// Where each stage's layers begin, as cutLayers() gives it. Absent: the lab measured no messages.
std::optional<std::vector<std::size_t>> beginsOf(const std::vector<LayerCost> &layers, const PipelinePlan &plan,
                                                 const CommunicationModel &communication) {
    std::vector<std::size_t> begins = {0};
    if (!plan.stageLayers.empty()) {
        for (const int count : plan.stageLayers)
            begins.push_back(begins.back() + std::size_t(count));
        return begins;
    }
    std::vector<LayerTime> times;
    for (const LayerCost &layer : layers)
        times.push_back(layer.time(plan.samples));
    std::vector<std::vector<double>> messages(std::size_t(plan.stages - 1));
    for (std::size_t stage = 0; stage < messages.size(); ++stage)
        for (const LayerCost &layer : layers) {
            const auto message = messageOf(stage, layer, plan, communication);
            if (!message)
                return std::nullopt;
            messages[stage].push_back(message->seconds);
        }
    return cutLayers(plan.schedule, std::size_t(plan.microBatches),
                     {.layers = std::vector(std::size_t(plan.stages), times),
                      .messageS = std::move(messages),
                      .messagesAreWork = plan.ownCores});
}

/// What is known of a stage.
struct Stage {
    LayerTime share;         ///< of all layers' times
    double ofParameters = 0; ///< its share of the parameters
    Prediction message{}, average{};
};

enum class Case { Value, Low, High };

double of(const Prediction &prediction, Case which) {
    return which == Case::Value ? prediction.seconds : which == Case::Low ? prediction.low : prediction.high;
}

/// The stages' times where messages take `messages` times as long as they do.
std::vector<StageTimes> timesOf(const std::vector<Stage> &stages, const PipelinePlan &plan, const DeviceTime &micro,
                                double loadingS, Case which, double messages) {
    const double of1 = which == Case::Value ? 1
                       : which == Case::Low ? micro.stepS.low / micro.stepS.value
                                            : micro.stepS.high / micro.stepS.value;
    std::vector<StageTimes> times;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const double own = of(stages[i].message, which) * messages;
        const double before = i > 0 ? of(stages[i - 1].message, which) * messages : 0;
        const bool pays = plan.ownCores && which != Case::Low;
        const double work = pays ? own + before : 0; // there and back: one message of each in each direction
        times.push_back({.forwardS = of1 * stages[i].share.forwardS * micro.forwardS + work,
                         .backwardS = of1 * stages[i].share.backwardS * micro.backwardS + work,
                         .messageS = pays ? 0 : own,
                         .betweenS = of1 * (stages[i].ofParameters * micro.optimizerS + (i == 0 ? loadingS : 0)) +
                                     of(stages[i].average, which) * messages});
    }
    return times;
}

} // namespace

LayerTime LayerCost::time(std::int64_t samples) const {
    const auto nearest = std::ranges::min_element(
        timesAt, {}, [samples](const auto &measured) { return std::abs(measured.first - samples); });
    return nearest == timesAt.end() ? LayerTime() : nearest->second;
}

std::optional<StepTime> pipelineTime(const std::vector<LayerCost> &layers, const PipelinePlan &plan,
                                     const DeviceTime &micro, double loadingS,
                                     const CommunicationModel &communication) {
    const auto cuts = beginsOf(layers, plan, communication);
    if (!cuts)
        return std::nullopt;
    const std::vector<std::size_t> &begins = *cuts;
    LayerTime all;
    double parameters = 0;
    for (const LayerCost &layer : layers) {
        all.forwardS += layer.time(plan.samples).forwardS;
        all.backwardS += layer.time(plan.samples).backwardS;
        parameters += layer.parameterBytes;
    }
    StepTime out;
    std::vector<Stage> stages;
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
        Stage stage;
        double bytes = 0;
        for (std::size_t layer = begins[i]; layer < begins[i + 1]; ++layer) {
            stage.share.forwardS += layers[layer].time(plan.samples).forwardS / all.forwardS;
            stage.share.backwardS += layers[layer].time(plan.samples).backwardS / all.backwardS;
            bytes += layers[layer].parameterBytes;
        }
        stage.ofParameters = bytes / parameters;
        if (i + 2 < begins.size()) {
            const auto message = messageOf(i, layers[begins[i + 1] - 1], plan, communication);
            if (!message)
                return std::nullopt;
            stage.message = *message;
            out.bytesMeasured = out.bytesMeasured && message->bytesMeasured;
        }
        if (plan.pipelines > 1) {
            const auto average = communication.predict("all_reduce", plan.pipelines, bytes);
            if (!average)
                return std::nullopt;
            stage.average = *average;
            out.ranksMeasured = out.ranksMeasured && average->ranksMeasured;
            out.bytesMeasured = out.bytesMeasured && average->bytesMeasured;
        }
        out.communicationS += 2 * double(plan.microBatches) * stage.message.seconds + stage.average.seconds;
        stages.push_back(stage);
    }
    const auto played = [&](Case which, double messages) {
        return playSteps(plan.schedule, timesOf(stages, plan, micro, loadingS, which, messages),
                         std::size_t(plan.microBatches));
    };
    const PlayedStep silent = played(Case::Value, 0);
    out.stepS = {played(Case::Value, 1).stepS, played(Case::Low, 1).stepS, played(Case::High, 1).stepS};
    out.computeS = std::ranges::max(silent.busyS);
    out.exposedS = std::max(0.0, out.stepS.value - silent.stepS);
    out.waitS = std::max(0.0, silent.stepS - out.computeS);
    return out;
}

} // namespace lockstep::core
