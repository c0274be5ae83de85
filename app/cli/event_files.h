#pragma once
#include <memory>
#include <string>

#include "export/tensorboard_writer.h"

namespace lockstep::cli {

/// Writes event files under `folder`; what it can't write is told on stderr, and the runs go on.
[[nodiscard]] std::unique_ptr<core::TensorBoardFeed> openEventFiles(const std::string &folder);

} // namespace lockstep::cli
