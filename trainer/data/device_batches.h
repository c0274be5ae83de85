#pragma once
#include <span>

#include "trainer/data/image_set.h"
#include "trainer/data/loader.h"

namespace lockstep::trainer {

/// --loader device: the whole set lies on the device and batches are cut, augmented and normalised there, by torch's own
/// operations (index_select, affine_grid's product, grid_sample). What travels a batch is an index and six numbers an image.
/// The draw is the other loaders' (trainer/data/affine.h); on a CPU the pixels are theirs bit by bit.
class DeviceBatches {
public:
    /// Copies `set` to options.device.
    DeviceBatches(const ImageSet &set, const LoaderOptions &options);

    /// As BatchMaker::make, with images and labels on the device.
    [[nodiscard]] Batch make(std::span<const std::int64_t> samples, std::int64_t epoch, std::int64_t real) const;

private:
    [[nodiscard]] torch::Tensor shifted(const torch::Tensor &pixels, std::span<const std::int64_t> samples,
                                        std::int64_t epoch) const;

    LoaderOptions m_options;
    c10::Device m_device;
    torch::Tensor m_images, m_labels; ///< uint8 [N, 1, 28, 28] and int64 [N]
    torch::Tensor m_grid;             ///< [28 * 28, 3]: each pixel's place from the centre, and 1
    double m_mean, m_std;
};

} // namespace lockstep::trainer
