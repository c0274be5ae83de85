// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
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

/// Puts samples of similar length into the same global batch of `batchSize`: the order is cut into pools of 50 batches, each pool is
/// sorted by length, and its batches are shuffled, by a generator seeded seed+epoch. A last, smaller batch stays the last. Each rank's
/// share of a batch, strided as above, then has similar lengths too. Source: transformers' LengthGroupedSampler, whose pools these are.
struct LengthBuckets {
    std::span<const std::int64_t> lengths; ///< of every sample; empty: no buckets
    std::int64_t batchSize = 0;            ///< of all ranks together
};
[[nodiscard]] SampleOrder sampleOrder(std::int64_t datasetSize, int worldSize, int rank, std::uint64_t seed,
                                      std::int64_t epoch, const LengthBuckets &buckets);

/// Test set sharded without duplicates: rank r takes indices r, r+W, …
[[nodiscard]] std::vector<std::int64_t> evaluationShard(std::int64_t datasetSize, int worldSize, int rank);

} // namespace lockstep::trainer
