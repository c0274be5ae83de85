// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include <QStringList>

#include "ipc/error.h"

namespace lockstep::cli {

/// Starts lockstepctl with these words in a new session, as the owner of the experiment's queue, and gives its process. What it prints
/// is appended to the experiment's runner.log: a link or something else than a file in its place is an error.
[[nodiscard]] Result<qint64> startOwner(const std::string &experiment, const QStringList &words);

} // namespace lockstep::cli
