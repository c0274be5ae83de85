// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string>

#include "export/tensorboard_writer.h"

namespace lockstep::cli {

/// Writes event files under `folder`; write errors go to stderr, and the runs continue.
[[nodiscard]] std::unique_ptr<core::TensorBoardFeed> openEventFiles(const std::string &folder);

} // namespace lockstep::cli
