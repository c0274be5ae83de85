// SPDX-License-Identifier: MIT
#include "trainer/data/sampler.h"

#include <algorithm>

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

} // namespace

SampleOrder sampleOrder(std::int64_t datasetSize, int worldSize, int rank, std::uint64_t seed, std::int64_t epoch) {
    return sampleOrder(datasetSize, worldSize, rank, seed, epoch, {});
}

SampleOrder sampleOrder(std::int64_t datasetSize, int worldSize, int rank, std::uint64_t seed, std::int64_t epoch,
                        const LengthBuckets &buckets) {
    SampleOrder order;
    if (datasetSize <= 0)
        return order;
    auto generator = at::detail::createCPUGenerator(seed + static_cast<std::uint64_t>(epoch));
    const auto permutation = at::randperm(datasetSize, generator, at::kLong);
    auto *sample = permutation.data_ptr<std::int64_t>();
    if (!buckets.lengths.empty())
        sortIntoBuckets(std::span(sample, static_cast<std::size_t>(datasetSize)), buckets, generator);
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

std::vector<std::int64_t> evaluationShard(std::int64_t datasetSize, int worldSize, int rank) {
    std::vector<std::int64_t> indices;
    for (std::int64_t i = rank; i < datasetSize; i += worldSize)
        indices.push_back(i);
    return indices;
}

} // namespace lockstep::trainer
