// SPDX-License-Identifier: MIT
#include "trainer/engine/model_costs.h"

#include <map>
#include <ranges>

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include "ipc/model_facts.h"
#include "trainer/engine/run_data.h"
#include "trainer/models/model.h"
#include "trainer/models/script_model.h"
#include "trainer/strategies/layer_costs.h"

namespace lockstep::trainer {

Result<std::string> modelCostsJson(const RunConfig &config, const std::vector<std::int64_t> &batches) {
    at::set_num_threads(config.threads > 0 ? config.threads : config.coresPerDevice);
    if (const auto facts = modelFacts(config.model); !facts)
        return fail(facts.error());
    const auto data = loadRunData(config);
    if (!data)
        return fail(data.error());
    const SampleSpec sample = data->train.spec.sample;
    const torch::Dtype type = config.precision == "fp64" ? torch::kFloat64 : torch::kFloat32;
    if (isModelFile(config.model))
        if (const auto trial =
                tryScriptModel(config.model, sample.classes, data->train.texts.padding(), torch::kCPU, type);
            !trial)
            return fail(trial.error());
    const auto model =
        makeModel(config.model, {.dropout = config.dropout,
                                 .classes = sample.classes,
                                 .folder = sample.values == Values::Text ? bertFolderOf(config.bertDir) : ""});
    if (!model)
        return fail(model.error());
    (*model)->to(torch::kCPU, type);
    (*model)->setAutocast(config.precision == "bf16");
    if (config.channelsLast)
        (*model)->setChannelsLast();
    using Json = nlohmann::ordered_json;
    Json parameters = Json::array(), buffers = Json::array(), layers = Json::array();
    for (const torch::Tensor &parameter : (*model)->parameters())
        parameters.push_back(parameter.nbytes());
    std::map<torch::Dtype, std::size_t> bytesByType;
    for (const torch::Tensor &buffer : (*model)->buffers())
        bytesByType[buffer.scalar_type()] += buffer.nbytes();
    for (const std::size_t bytes : std::views::values(bytesByType))
        buffers.push_back(bytes);
    for (const std::int64_t samples : batches) {
        const auto costs =
            layerCosts(**model, exampleInput(sample, samples, config.maxTokens, at::TensorOptions(type)));
        for (std::size_t layer = 0; layer < costs.size(); ++layer) {
            if (layer == layers.size())
                layers.push_back({{"forward_s", Json::array()},
                                  {"backward_s", Json::array()},
                                  {"output_bytes_per_sample", costs[layer].outputBytes / samples},
                                  {"parameter_bytes", costs[layer].parameterBytes}});
            layers[layer]["forward_s"].push_back(costs[layer].time.forwardS);
            layers[layer]["backward_s"].push_back(costs[layer].time.backwardS);
        }
    }
    return Json({{"type", "model"},
                 {"train_samples", data->train.size()},
                 {"parameter_bytes", parameters},
                 {"buffer_bytes", buffers},
                 {"batches", batches},
                 {"layers", layers}})
        .dump();
}

} // namespace lockstep::trainer
