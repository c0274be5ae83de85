// SPDX-License-Identifier: MIT
#pragma once
#include <span>

#include "trainer/data/data_set.h"
#include "trainer/data/loader.h"

namespace lockstep::trainer {

/// --loader device: the whole set is on the device, and batches are selected, augmented and normalised there by torch's own
/// operations (index_select, sums, grid_sample). One copy per batch goes to the device: an index per sample, and with affine what
/// its columns and rows add to the source's coordinates. affine_grid's own product cannot be used: its rounding differs between
/// libraries, and one coordinate in some millions would fall on the next pixel. The random draws equal the other
/// loaders' (trainer/data/affine.h), and so do the pixels, bit by bit on a CPU. A GPU's grid_sample may fuse its last multiply-add:
/// that would have moved none of 1.9 × 10⁹ coordinates that were drawn this way.
class DeviceBatches {
public:
    /// Copies `set` to options.device.
    DeviceBatches(const DataSet &set, const LoaderOptions &options);

    /// As BatchMaker::make, with inputs and targets on the device.
    [[nodiscard]] Batch make(std::span<const std::int64_t> samples, std::int64_t epoch, std::int64_t real) const;
    /// The first half of make(), on the host: leaves inputs and targets undefined.
    [[nodiscard]] Batch prepare(std::span<const std::int64_t> samples, std::int64_t epoch, std::int64_t real) const;
    /// The second half, on the device, from a copy of `terms` there. For a given number of samples its operations are always the
    /// same, so they can be recorded.
    void makeOf(const torch::Tensor &terms, Batch &batch) const;
    [[nodiscard]] std::int64_t samplesOf(const torch::Tensor &terms) const;
    [[nodiscard]] c10::Device device() const { return m_device; }

private:
    LoaderOptions m_options;
    c10::Device m_device;
    DataSetSpec m_spec;
    torch::Tensor m_inputs, m_targets; ///< the whole set's
};

} // namespace lockstep::trainer
