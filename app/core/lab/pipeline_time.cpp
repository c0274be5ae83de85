// SPDX-License-Identifier: MIT
#include "lab/pipeline_time.h"

#include <algorithm>
#include <cstdlib>

#include "ipc/stage_plan.h"

namespace lockstep::core {
namespace {

/// To the stage after this layer.
std::optional<Prediction> messageOf(const LayerCost &last, const PipelinePlan &plan,
                                    const CommunicationModel &communication) {
    return communication.predict("send_recv", 2, last.outputBytesPerSample * double(plan.samples));
}

/// Where each stage's layers begin, as splitLayers() gives it. Absent: the lab measured no messages.
std::optional<std::vector<std::size_t>> beginsOf(const std::vector<LayerCost> &layers, const PipelinePlan &plan,
                                                 const CommunicationModel &communication) {
    std::vector<std::size_t> begins = {0};
    if (!plan.stageLayers.empty()) {
        for (const int count : plan.stageLayers)
            begins.push_back(begins.back() + std::size_t(count));
        return begins;
    }
    std::vector<double> seconds, messages;
    for (const LayerCost &layer : layers) {
        const auto message = messageOf(layer, plan, communication);
        if (!message)
            return std::nullopt;
        seconds.push_back(layer.seconds(plan.samples));
        messages.push_back(2 * message->seconds); // one each way
    }
    return splitLayers(std::vector(std::size_t(plan.stages), seconds),
                       std::vector(std::size_t(plan.stages - 1), messages));
}

/// What is known of a stage.
struct Stage {
    double share = 0, ofParameters = 0; ///< of the layers' time, and of the parameters
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
        times.push_back({.forwardS = of1 * stages[i].share * micro.forwardS + work,
                         .backwardS = of1 * stages[i].share * micro.backwardS + work,
                         .messageS = pays ? 0 : own,
                         .betweenS = of1 * (stages[i].ofParameters * micro.optimizerS + (i == 0 ? loadingS : 0)) +
                                     of(stages[i].average, which) * messages});
    }
    return times;
}

} // namespace

double LayerCost::seconds(std::int64_t samples) const {
    const auto nearest = std::ranges::min_element(
        secondsAt, {}, [samples](const auto &measured) { return std::abs(measured.first - samples); });
    return nearest == secondsAt.end() ? 0 : nearest->second;
}

std::optional<StepTime> pipelineTime(const std::vector<LayerCost> &layers, const PipelinePlan &plan,
                                     const DeviceTime &micro, double loadingS,
                                     const CommunicationModel &communication) {
    const auto cuts = beginsOf(layers, plan, communication);
    if (!cuts)
        return std::nullopt;
    const std::vector<std::size_t> &begins = *cuts;
    double seconds = 0, parameters = 0;
    for (const LayerCost &layer : layers) {
        seconds += layer.seconds(plan.samples);
        parameters += layer.parameterBytes;
    }
    StepTime out;
    std::vector<Stage> stages;
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
        Stage stage;
        double bytes = 0;
        for (std::size_t layer = begins[i]; layer < begins[i + 1]; ++layer) {
            stage.share += layers[layer].seconds(plan.samples) / seconds;
            bytes += layers[layer].parameterBytes;
        }
        stage.ofParameters = bytes / parameters;
        if (i + 2 < begins.size()) {
            const auto message = messageOf(layers[begins[i + 1] - 1], plan, communication);
            if (!message)
                return std::nullopt;
            stage.message = *message;
        }
        if (plan.pipelines > 1) {
            const auto average = communication.predict("all_reduce", plan.pipelines, bytes);
            if (!average)
                return std::nullopt;
            stage.average = *average;
            out.ranksMeasured = out.ranksMeasured && average->ranksMeasured;
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
