// SPDX-License-Identifier: MIT
#include "trainer/data/sampler.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

namespace lockstep::trainer {

namespace {

constexpr std::int64_t batchesInPool = 50;

void sortIntoBuckets(std::span<std::int64_t> samples, const LengthBuckets &buckets, const at::Generator &generator) {
    const auto count = static_cast<std::int64_t>(samples.size()), whole = count / buckets.batchSize;
    const auto byLength = [&](std::int64_t a, std::int64_t b) {
        return buckets.lengths[static_cast<std::size_t>(a)] > buckets.lengths[static_cast<std::size_t>(b)];
    };
    const std::int64_t pool = batchesInPool * buckets.batchSize;
    for (std::int64_t first = 0; first < whole * buckets.batchSize; first += pool) {
        const std::int64_t size = std::min(pool, whole * buckets.batchSize - first);
        const auto part = samples.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(size));
        std::ranges::stable_sort(part, byLength);
    }
    const std::vector<std::int64_t> sorted(samples.begin(), samples.end());
    const auto order = at::randperm(whole, generator, at::kLong);
    const auto *batch = order.const_data_ptr<std::int64_t>();
    auto out = samples.begin();
    for (std::int64_t i = 0; i < whole; ++i)
        out = std::copy_n(sorted.begin() + batch[i] * buckets.batchSize, buckets.batchSize, out);
}

/// All samples in the order of the epoch, before ranks share them out.
at::Tensor permuted(std::int64_t datasetSize, std::uint64_t seed, std::int64_t epoch, const LengthBuckets &buckets) {
    auto generator = at::detail::createCPUGenerator(seed + static_cast<std::uint64_t>(epoch));
    auto permutation = at::randperm(datasetSize, generator, at::kLong);
    if (!buckets.lengths.empty())
        sortIntoBuckets(std::span(permutation.data_ptr<std::int64_t>(), static_cast<std::size_t>(datasetSize)), buckets,
                        generator);
    return permutation;
}

} // namespace

SampleOrder sampleOrder(std::int64_t datasetSize, int worldSize, int rank, std::uint64_t seed, std::int64_t epoch) {
    return sampleOrder(datasetSize, worldSize, rank, seed, epoch, {});
}

SampleOrder sampleOrder(std::int64_t datasetSize, int worldSize, int rank, std::uint64_t seed, std::int64_t epoch,
                        const LengthBuckets &buckets) {
    SampleOrder order;
    if (datasetSize <= 0)
        return order;
    const auto permutation = permuted(datasetSize, seed, epoch, buckets);
    const auto *sample = permutation.const_data_ptr<std::int64_t>();
    const auto perRank = (datasetSize + worldSize - 1) / worldSize;
    order.indices.reserve(static_cast<std::size_t>(perRank));
    for (std::int64_t i = 0; i < perRank; ++i) {
        const auto position = rank + i * worldSize;
        order.indices.push_back(sample[position % datasetSize]);
        if (position < datasetSize)
            order.real = i + 1;
    }
    return order;
}

std::vector<std::int64_t> inProportion(std::int64_t total, std::span<const double> weights) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<std::int64_t> parts;
    std::vector<double> missing; // of each part to its exact size
    std::int64_t left = total;
    for (const double weight : weights) {
        const double exact = static_cast<double>(total) * weight / sum;
        parts.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(exact)));
        missing.push_back(exact - static_cast<double>(parts.back()));
        left -= parts.back();
    }
    while (left != 0) {
        // Small parts were raised to 1: what they got is taken where most of it is left over.
        const auto at = left > 0 ? std::ranges::max_element(missing) : std::ranges::min_element(missing);
        const auto i = static_cast<std::size_t>(at - missing.begin());
        const std::int64_t change = left > 0 ? 1 : -1;
        if (parts[i] + change < 1) {
            *at = std::numeric_limits<double>::infinity();
            continue;
        }
        parts[i] += change;
        *at -= static_cast<double>(change);
        left -= change;
    }
    return parts;
}

RankShare unevenShare(std::int64_t datasetSize, std::span<const std::int64_t> shares, int rank, std::uint64_t seed,
                      std::int64_t epoch, const LengthBuckets &buckets) {
    RankShare out;
    if (datasetSize <= 0)
        return out;
    const auto permutation = permuted(datasetSize, seed, epoch, buckets);
    const auto *sample = permutation.const_data_ptr<std::int64_t>();
    const auto ranks = static_cast<std::int64_t>(shares.size()), padded = (datasetSize + ranks - 1) / ranks * ranks,
               batch = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
    for (std::int64_t first = 0; first < padded; first += batch) {
        const std::int64_t total = std::min(batch, padded - first);
        std::vector<std::int64_t> sizes(shares.begin(), shares.end());
        if (total < batch)
            sizes = inProportion(total, std::vector<double>(shares.begin(), shares.end()));
        const std::int64_t begin = std::accumulate(sizes.begin(), sizes.begin() + rank, first),
                           own = sizes[static_cast<std::size_t>(rank)];
        for (std::int64_t position = begin; position < begin + own; ++position) {
            out.order.indices.push_back(sample[position % datasetSize]);
            out.order.real += position < datasetSize ? 1 : 0;
        }
        out.lastWeight = static_cast<double>(own * ranks) / static_cast<double>(total);
    }
    out.share = shares[static_cast<std::size_t>(rank)];
    out.weight = static_cast<double>(out.share * ranks) / static_cast<double>(batch);
    return out;
}

std::vector<std::int64_t> evaluationShard(std::int64_t datasetSize, int worldSize, int rank) {
    std::vector<std::int64_t> indices;
    for (std::int64_t i = rank; i < datasetSize; i += worldSize)
        indices.push_back(i);
    return indices;
}

} // namespace lockstep::trainer
