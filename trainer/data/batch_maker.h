// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "trainer/data/data_set.h"
#include "trainer/data/loader.h"

namespace lockstep::trainer {

/// Makes one batch of given samples. Constant after construction, so that threads may share it.
class BatchMaker {
public:
    /// `set` must outlive it.
    BatchMaker(const DataSet &set, const LoaderOptions &options);

    /// `samples` index the set; `epoch` (from 0) only picks the augmentation.
    [[nodiscard]] Batch make(std::span<const std::int64_t> samples, std::int64_t epoch, std::int64_t real) const;

private:
    template <class T>
    void fill(torch::Tensor &inputs, std::span<const std::int64_t> samples, std::int64_t epoch,
              const std::array<T, 256> &table) const;
    [[nodiscard]] torch::Tensor padded(std::span<const std::int64_t> samples,
                                       const torch::TensorOptions &options) const;
    [[nodiscard]] torch::Tensor item(std::int64_t sample, std::int64_t epoch) const;

    const DataSet &m_set;
    LoaderOptions m_options;
    bool m_pin;
    std::array<float, 256> m_table32;
    std::array<double, 256> m_table64;
};

} // namespace lockstep::trainer
