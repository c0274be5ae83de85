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

/// Cuts `total` into whole numbers in proportion to `weights` (all positive), at least 1 each; the rest goes to the largest
/// remainders, ties to the first. The same numbers give the same cut on every rank. `total` must be at least as many.
[[nodiscard]] std::vector<std::int64_t> inProportion(std::int64_t total, std::span<const double> weights);

/// What a rank takes of an epoch.
struct RankShare {
    SampleOrder order;
    std::int64_t share = 0; ///< this rank's samples of a whole batch
    /// Of this rank's gradients in the mean over the ranks, so that each sample counts alike: of a whole batch, and of the last one.
    double weight = 1, lastWeight = 1;
};
/// Shares of unlike devices: of each global batch, which holds the same samples as with the even shares above, rank r takes `shares[r]`
/// samples. A last, smaller batch is cut in the same proportion, at least one sample for each rank.
[[nodiscard]] RankShare unevenShare(std::int64_t datasetSize, std::span<const std::int64_t> shares, int rank,
                                    std::uint64_t seed, std::int64_t epoch, const LengthBuckets &buckets);

/// Test set sharded without duplicates: rank r takes indices r, r+W, …
[[nodiscard]] std::vector<std::int64_t> evaluationShard(std::int64_t datasetSize, int worldSize, int rank);

} // namespace lockstep::trainer
