#include "trainer/data/device_batches.h"

#include <torch/torch.h>

#include "trainer/data/affine.h"
#include "trainer/data/pixels.h"

namespace lockstep::trainer {

namespace {

/// affine_grid's base as torchvision makes it: x, y in pixels from the centre, and 1.
torch::Tensor baseGrid() {
    const auto line = torch::linspace(-imageSide * 0.5 + 0.5, imageSide * 0.5 - 0.5, imageSide);
    auto grid = torch::empty({imageSide, imageSide, 3});
    grid.select(2, 0).copy_(line);
    grid.select(2, 1).copy_(line.unsqueeze(1));
    grid.select(2, 2).fill_(1);
    return grid.view({imagePixels, 3});
}

/// A host tensor on its way to `device`: page-locked where that lets the copy run beside the computation.
torch::Tensor onDevice(torch::Tensor host, c10::Device device) {
    return device.is_cuda() ? host.pin_memory().to(device, /*non_blocking=*/true) : host;
}

} // namespace

DeviceBatches::DeviceBatches(const ImageSet &set, const LoaderOptions &options)
    : m_options(options), m_device(options.device.value_or(c10::Device(torch::kCPU))),
      m_images(set.images.unsqueeze(1).to(m_device)), m_labels(set.labels.to(m_device)),
      m_grid(baseGrid().to(m_device)), m_mean(set.mean), m_std(set.std) {}

torch::Tensor DeviceBatches::shifted(const torch::Tensor &pixels, std::span<const std::int64_t> samples,
                                     std::int64_t epoch) const {
    const auto n = static_cast<std::int64_t>(samples.size());
    auto theta = torch::empty({n, 3, 2});
    auto *to = theta.data_ptr<float>();
    for (const auto sample : samples) {
        const auto m = affineMatrix(drawAffine(m_options.seed, epoch, sample));
        for (const std::size_t entry : {0, 3, 1, 4, 2, 5}) // transposed, and in grid_sample's units of half an image
            *to++ = m[entry] / (imageSide / 2.0F);
    }
    const auto grid = torch::bmm(m_grid.unsqueeze(0).expand({n, imagePixels, 3}), onDevice(theta, m_device))
                          .view({n, imageSide, imageSide, 2});
    namespace F = torch::nn::functional;
    return F::grid_sample(
        pixels.to(torch::kFloat32), grid,
        F::GridSampleFuncOptions().mode(torch::kNearest).padding_mode(torch::kZeros).align_corners(false));
}

Batch DeviceBatches::make(std::span<const std::int64_t> samples, std::int64_t epoch, std::int64_t real) const {
    auto indices = torch::empty({static_cast<std::int64_t>(samples.size())}, torch::kInt64);
    std::copy(samples.begin(), samples.end(), indices.data_ptr<std::int64_t>());
    indices = onDevice(indices, m_device);
    Batch batch;
    batch.real = real;
    batch.labels = m_labels.index_select(0, indices);
    auto pixels = m_images.index_select(0, indices);
    if (m_options.affine)
        pixels = shifted(pixels, samples, epoch);
    batch.images = pixels.to(m_options.dtype).div_(255).sub_(m_mean).div_(m_std);
    return batch;
}

} // namespace lockstep::trainer
