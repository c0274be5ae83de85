// SPDX-License-Identifier: MIT
#include "trainer/data/sampler.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

namespace lockstep::trainer {

SampleOrder sampleOrder(std::int64_t datasetSize, int worldSize, int rank, std::uint64_t seed, std::int64_t epoch) {
    SampleOrder order;
    if (datasetSize <= 0)
        return order;
    auto generator = at::detail::createCPUGenerator(seed + static_cast<std::uint64_t>(epoch));
    const auto permutation = at::randperm(datasetSize, generator, at::kLong);
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

std::vector<std::int64_t> evaluationShard(std::int64_t datasetSize, int worldSize, int rank) {
    std::vector<std::int64_t> indices;
    for (std::int64_t i = rank; i < datasetSize; i += worldSize)
        indices.push_back(i);
    return indices;
}

} // namespace lockstep::trainer
