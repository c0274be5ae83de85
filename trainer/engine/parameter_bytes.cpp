// SPDX-License-Identifier: MIT
#include "trainer/engine/parameter_bytes.h"

#include <nlohmann/json.hpp>

#include "trainer/models/model.h"

namespace lockstep::trainer {

Result<std::string> parameterBytesJson(const RunConfig &config) {
    const auto model = makeModel(config.model, {.dropout = config.dropout, .folder = config.bertDir});
    if (!model)
        return fail(model.error());
    if (config.precision == "fp64")
        (*model)->to(torch::kFloat64);
    nlohmann::ordered_json json = {{"type", "parameters"}, {"bytes", nlohmann::ordered_json::array()}};
    for (const torch::Tensor &parameter : (*model)->parameters())
        json["bytes"].push_back(parameter.nbytes());
    return json.dump();
}

} // namespace lockstep::trainer
