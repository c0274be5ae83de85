// SPDX-License-Identifier: MIT
#include "trainer/strategies/make_strategy.h"

#include <ATen/CPUGeneratorImpl.h>

#include "ipc/model_facts.h"
#include "trainer/comm/step_graphs.h"
#include "trainer/strategies/baseline.h"
#include "trainer/strategies/ddp.h"
#include "trainer/strategies/graphed.h"
#include "trainer/strategies/pipeline.h"
#include "trainer/strategies/ps_async.h"
#include "trainer/strategies/serving_rank.h"

namespace lockstep::trainer {
namespace {

using Made = std::unique_ptr<Strategy>;

Made makeBaseline(const StrategyParts &parts) {
    if (parts.config.cudaGraph)
        return std::make_unique<Graphed>(parts.model, parts.clock, makeStepGraphs(), parts.batch);
    return std::make_unique<Baseline>(parts.model, parts.clock, parts.config.accumulate);
}

Made makeDp(const StrategyParts &parts) {
    // Replicas' first parameters are overwritten: drawing them must not move the sequence of random numbers on.
    const at::Generator &generator = at::detail::getDefaultCPUGenerator();
    const auto before = generator.get_state();
    auto made =
        std::make_unique<Dp>(parts.model, parts.clock,
                             Dp::Options{parts.devices, parts.makeReplica, parts.config.dpReplicas == "persistent",
                                         parts.optimizer, parts.config.seed, parts.trace});
    at::Generator(generator).set_state(before);
    return made;
}

std::optional<at::ScalarType> gradientFormat(const RunConfig &config) {
    return config.compressGradients == "fp16"   ? std::optional(at::kHalf)
           : config.compressGradients == "bf16" ? std::optional(at::kBFloat16)
                                                : std::nullopt;
}

/// DDP and the synchronous server differ only in what adds the buckets up.
Made makeDdpWith(const StrategyParts &parts, const SumWay *sums) {
    return std::make_unique<Ddp>(parts.model, parts.communicator, parts.clock,
                                 Ddp::Options{.bucketMb = parts.config.bucketMb,
                                              .bucketOrder = parts.bucketOrder,
                                              .sums = sums,
                                              .sentAs = gradientFormat(parts.config),
                                              .accumulate = parts.config.accumulate},
                                 parts.trace);
}

Made makeDdp(const StrategyParts &parts) {
    return makeDdpWith(parts, parts.config.allReduce == "ring" ? &aroundRing : nullptr);
}

Made makePsSync(const StrategyParts &parts) {
    return makeDdpWith(parts, &throughServer);
}

Made makePsAsync(const StrategyParts &parts) {
    const RunConfig &config = parts.config;
    const int ranks = parts.communicator.worldSize(), trainers = trainingDevices(config, ranks);
    const bool apart = trainers < ranks;
    const ParameterShares::Options shares{.servers = apart ? config.serverDevices : config.servers,
                                          .firstServer = apart ? trainers : 0,
                                          .trainers = trainers,
                                          .maxStaleness = config.maxStaleness,
                                          .optimizer = parts.optimizer};
    if (onlyServes(config, parts.communicator.rank(), ranks))
        return std::make_unique<ServingRank>(*parts.model, parts.communicator, parts.clock, shares);
    return std::make_unique<PsAsync>(parts.model, parts.communicator, parts.clock,
                                     PsAsync::Options{shares, parts.trace, config.accumulate});
}

Made makePipeline(const StrategyParts &parts) {
    const RunConfig &config = parts.config;
    return std::make_unique<Pipeline>(parts.model, parts.communicator, parts.clock,
                                      Pipeline::Options{.stages = stageCount(config, parts.communicator.worldSize()),
                                                        .microBatches = config.microBatches,
                                                        .schedule = config.pipelineSchedule,
                                                        .layersPerStage = *parseStageLayers(config.stageLayers),
                                                        .sample = parts.sample,
                                                        .batch = parts.batch,
                                                        .mostTokens = config.maxTokens,
                                                        .oneNode = parts.oneNode});
}

struct StrategyMaker {
    Method method;
    Made (*make)(const StrategyParts &parts);
};

constexpr std::array strategyMakers{
    StrategyMaker{Method::Baseline, makeBaseline}, StrategyMaker{Method::Dp, makeDp},
    StrategyMaker{Method::Ddp, makeDdp},           StrategyMaker{Method::PsSync, makePsSync},
    StrategyMaker{Method::PsAsync, makePsAsync},   StrategyMaker{Method::Pipeline, makePipeline}};
static_assert(strategyMakers.size() == methodTable.size(), "every method has a strategy");

} // namespace

Result<std::unique_ptr<Strategy>> makeStrategy(const StrategyParts &parts) {
    if (specOf(parts.config.method).splitsModel) {
        ModelFacts facts = modelFacts(parts.config.model).value().value(); // the model has been made by them
        facts.layers = static_cast<int>(parts.model->layerCount());        // which of a BERT its folder alone says
        if (auto mistakes = checkLayers(parts.config, parts.communicator.worldSize(), facts); !mistakes.empty())
            return fail(std::move(mistakes.front()));
    }
    for (const StrategyMaker &maker : strategyMakers)
        if (maker.method == parts.config.method)
            return maker.make(parts);
    return nullptr; // cannot happen: the table has every method
}

} // namespace lockstep::trainer
