// SPDX-License-Identifier: MIT
#pragma once
// A model in a file: a TorchScript module. docs/own-model.md describes file and description, ipc/model_facts.h reads the description.
#include <memory>
#include <string>

#include <torch/types.h>

#include "ipc/error.h"
#include "ipc/model_facts.h"
#include "trainer/models/model.h"

namespace lockstep::trainer {

/// Loads the module onto the CPU, with the parameters that it has in the file. Each operator runs as in eager mode: TorchScript fuses
/// nothing, so that the numbers are Python's, and the first steps take as long as later ones. All errors are BadArgument, each call
/// loads a module of its own.
[[nodiscard]] Result<std::shared_ptr<Model>> loadScriptModel(const std::string &file);

/// What a trial of a module showed.
struct ScriptTrial {
    bool drawsNumbers = false; ///< in training, as dropout does
};

/// Loads the module and trains two samples with it, on the device and in the precision given: it takes such samples, puts out one
/// number for each of `classes`, every parameter gets a gradient, the layers in its description are the whole of it, and the
/// description's number of parameters is true; in evaluation it draws nothing that changes what it puts out. `padding`: the token that
/// fills texts up. Draws from torch's default generators.
[[nodiscard]] Result<ScriptTrial> tryScriptModel(const std::string &file, int classes, std::int64_t padding,
                                                 c10::Device device, torch::Dtype dtype);

} // namespace lockstep::trainer
