// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "ipc/error.h"
#include "ipc/run_config.h"

namespace lockstep::trainer {

struct Arguments {
    RunConfig config;
    std::vector<const FieldSpec *> given; ///< the fields whose flags were on the command line
    std::string text;                     ///< --help or --version: print it and exit with 0
    bool facts = false;                   ///< --facts: print what this trainer runs with and exit with 0
    /// --model-costs: print what the config's model costs with its data, its layers timed with so many samples, and exit with 0.
    std::vector<std::int64_t> modelCosts;
};

/// Reads the command line (without the program's name): every row of runConfigFields() is a flag. Returns all mistakes at once.
[[nodiscard]] tl::expected<Arguments, std::vector<Error>> readArguments(const std::vector<std::string> &arguments);

} // namespace lockstep::trainer
