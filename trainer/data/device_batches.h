#pragma once
#include <span>

#include "trainer/data/image_set.h"
#include "trainer/data/loader.h"

namespace lockstep::trainer {

/// --loader device: the whole set lies on the device and batches are cut, augmented and normalised there, by torch's own
/// operations (index_select, sums, grid_sample). What travels a batch is one copy: an index an image, and with affine what its
/// columns and rows add to the source's place. affine_grid's own product won't do: how a batched one rounds is each library's
/// own, and one coordinate in some millions falls to the next pixel. The draw and, bit by bit on a CPU, the pixels are the other
/// loaders' (trainer/data/affine.h). A GPU's grid_sample may fuse its last multiply-add: none of 1.9 × 10⁹ coordinates drawn as
/// these are would have gone elsewhere by it.
class DeviceBatches {
public:
    /// Copies `set` to options.device.
    DeviceBatches(const ImageSet &set, const LoaderOptions &options);

    /// As BatchMaker::make, with images and labels on the device.
    [[nodiscard]] Batch make(std::span<const std::int64_t> samples, std::int64_t epoch, std::int64_t real) const;
    /// Its two halves: what the host does, which leaves images and labels undefined …
    [[nodiscard]] Batch prepare(std::span<const std::int64_t> samples, std::int64_t epoch, std::int64_t real) const;
    /// … and what the device does with a copy of `terms` there: operations alone, always the same for as many samples, so that
    /// they can be recorded.
    void makeOf(const torch::Tensor &terms, Batch &batch) const;
    [[nodiscard]] std::int64_t samplesOf(const torch::Tensor &terms) const;
    [[nodiscard]] c10::Device device() const { return m_device; }

private:
    LoaderOptions m_options;
    c10::Device m_device;
    torch::Tensor m_images, m_labels; ///< uint8 [N, 1, 28, 28] and int64 [N]
    double m_mean, m_std;
};

} // namespace lockstep::trainer
