// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

namespace lockstep::trainer {

/// The order of samples of torch's DistributedSampler(shuffle=True, seed) with set_epoch(epoch), drop_last=False:
/// randperm by a generator seeded seed+epoch, padded by wrapping to a multiple of `worldSize`, strided by rank.
struct SampleOrder {
    std::vector<std::int64_t> indices; ///< into the data set, this rank's, in order
    std::int64_t real = 0;             ///< the first `real` are not padded duplicates
};

/// `epoch` counts from 0, as set_epoch does. Source: torch/utils/data/distributed.py.
[[nodiscard]] SampleOrder sampleOrder(std::int64_t datasetSize, int worldSize, int rank, std::uint64_t seed,
                                      std::int64_t epoch);

/// Test set sharded without duplicates: rank r takes indices r, r+W, …
[[nodiscard]] std::vector<std::int64_t> evaluationShard(std::int64_t datasetSize, int worldSize, int rank);

} // namespace lockstep::trainer
