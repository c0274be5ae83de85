// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "experiment/key_reader.h"
#include "experiment/recipe.h"

namespace lockstep::core {

/// A recipe's published figures; its mistakes are collected by `keys`. Absent: not even an object.
[[nodiscard]] std::optional<Published> readPublished(KeyReader &keys, const JsonNode &published);

} // namespace lockstep::core
