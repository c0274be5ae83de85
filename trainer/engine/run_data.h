// SPDX-License-Identifier: MIT
#pragma once
#include "ipc/error.h"
#include "ipc/run_config.h"
#include "trainer/data/data_set.h"

namespace lockstep::trainer {

/// What a config trains and tests with: the first train_samples and test_samples of its data. Texts are tokens by the vocabulary in its
/// bert_dir. All errors are BadArgument.
[[nodiscard]] Result<DataSets> loadRunData(const RunConfig &config);

} // namespace lockstep::trainer
