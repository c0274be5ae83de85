// SPDX-License-Identifier: MIT
#include "trainer/engine/model_costs.h"

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include "ipc/model_facts.h"
#include "trainer/models/bert_folder.h"
#include "trainer/models/model.h"
#include "trainer/strategies/layer_costs.h"

namespace lockstep::trainer {

Result<std::string> modelCostsJson(const RunConfig &config) {
    at::set_num_threads(config.threads > 0 ? config.threads : config.coresPerDevice);
    const auto facts = modelFacts(config.model);
    if (!facts)
        return fail(facts.error());
    const DataSetSpec *dataSet = findDataSet(config.dataset);
    SampleSpec sample = dataSet ? dataSet->sample : facts->value_or(ModelFacts()).sample;
    const auto model =
        makeModel(config.model, {.dropout = config.dropout,
                                 .classes = sample.classes,
                                 .folder = sample.values == Values::Text ? bertFolderOf(config.bertDir) : ""});
    if (!model)
        return fail(model.error());
    const torch::Dtype type = config.precision == "fp64" ? torch::kFloat64 : torch::kFloat32;
    (*model)->to(torch::kCPU, type);
    (*model)->setAutocast(config.precision == "bf16");
    if (config.channelsLast)
        (*model)->setChannelsLast();
    nlohmann::ordered_json json = {{"type", "model"},
                                   {"parameter_bytes", nlohmann::ordered_json::array()},
                                   {"layers", nlohmann::ordered_json::array()}};
    for (const torch::Tensor &parameter : (*model)->parameters())
        json["parameter_bytes"].push_back(parameter.nbytes());
    for (const LayerCost &layer :
         layerCosts(**model, exampleInput(sample, config.batchSize, config.maxTokens, at::TensorOptions(type))))
        json["layers"].push_back({{"seconds", layer.seconds},
                                  {"output_bytes", layer.outputBytes},
                                  {"parameter_bytes", layer.parameterBytes}});
    return json.dump();
}

} // namespace lockstep::trainer
