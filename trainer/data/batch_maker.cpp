// SPDX-License-Identifier: MIT
#include "trainer/data/batch_maker.h"

#include <torch/torch.h>

#include "trainer/data/affine.h"
#include "trainer/data/pixels.h"

namespace lockstep::trainer {
namespace {

template <class T> void shiftedInto(T *out, const T *image, const AffineDraw &draw) {
    AffineSources sources;
    affineSources(draw, sources);
    for (int i = 0; i < imagePixels; ++i)
        out[i] = sources[i] < 0 ? T{0} : image[sources[i]];
}

/// --loader item's transform, an image at a time by torch's own operations, as torchvision's chain works.
template <class T> torch::Tensor affineImage(const torch::Tensor &image, const AffineDraw &draw) {
    auto moved = torch::empty_like(image);
    shiftedInto(moved.template data_ptr<T>(), image.template const_data_ptr<T>(), draw);
    return moved;
}

} // namespace

BatchMaker::BatchMaker(const ImageSet &set, const LoaderOptions &options)
    : m_set(set), m_options(options), m_pin(options.pinMemory && at::hasCUDA()),
      m_table32(pixelTable<float>(set.mean, set.std)), m_table64(pixelTable<double>(set.mean, set.std)) {}

template <class T>
void BatchMaker::fill(torch::Tensor &images, std::span<const std::int64_t> samples, std::int64_t epoch,
                      const std::array<T, 256> &table) const {
    const auto *pixels = m_set.images.const_data_ptr<std::uint8_t>();
    auto *out = images.data_ptr<T>();
    AffineSources sources;
    for (const auto sample : samples) {
        const auto *image = pixels + sample * imagePixels;
        if (m_options.affine) {
            affineSources(drawAffine(m_options.seed, epoch, sample), sources);
            for (int i = 0; i < imagePixels; ++i)
                out[i] = table[sources[i] < 0 ? 0 : image[sources[i]]];
        } else {
            for (int i = 0; i < imagePixels; ++i)
                out[i] = table[image[i]];
        }
        out += imagePixels;
    }
}

torch::Tensor BatchMaker::item(std::int64_t sample, std::int64_t epoch) const {
    auto image = m_set.images[sample].unsqueeze(0).to(m_options.dtype).div(255);
    if (m_options.affine) {
        const auto draw = drawAffine(m_options.seed, epoch, sample);
        image = m_options.dtype == torch::kFloat64 ? affineImage<double>(image, draw) : affineImage<float>(image, draw);
    }
    return image.sub_(m_set.mean).div_(m_set.std);
}

Batch BatchMaker::make(std::span<const std::int64_t> samples, std::int64_t epoch, std::int64_t real) const {
    const auto n = static_cast<std::int64_t>(samples.size());
    const auto pinned = torch::TensorOptions().pinned_memory(m_pin);
    Batch batch;
    batch.real = real;
    batch.labels = torch::empty({n}, pinned.dtype(torch::kInt64));
    const auto *labels = m_set.labels.const_data_ptr<std::int64_t>();
    auto *label = batch.labels.data_ptr<std::int64_t>();
    for (const auto sample : samples)
        *label++ = labels[sample];
    if (m_options.itemwise) {
        std::vector<torch::Tensor> items;
        items.reserve(samples.size());
        for (const auto sample : samples)
            items.push_back(item(sample, epoch));
        batch.images = torch::stack(items);
        if (m_pin)
            batch.images = batch.images.pin_memory();
        return batch;
    }
    batch.images = torch::empty({n, 1, imageSide, imageSide}, pinned.dtype(m_options.dtype));
    if (m_options.dtype == torch::kFloat64)
        fill(batch.images, samples, epoch, m_table64);
    else
        fill(batch.images, samples, epoch, m_table32);
    return batch;
}

torch::Tensor normalize(const torch::Tensor &images, double mean, double std, torch::Dtype dtype) {
    const auto source = images.to(torch::kCPU, torch::kUInt8).contiguous();
    const auto n = source.size(0);
    auto out = torch::empty({n, 1, imageSide, imageSide}, dtype);
    const auto *in = source.const_data_ptr<std::uint8_t>();
    const auto spread = [&]<class T>(const std::array<T, 256> &table) {
        auto *value = out.data_ptr<T>();
        for (std::int64_t i = 0; i < n * imagePixels; ++i)
            value[i] = table[in[i]];
    };
    if (dtype == torch::kFloat64)
        spread(pixelTable<double>(mean, std));
    else
        spread(pixelTable<float>(mean, std));
    return out;
}

} // namespace lockstep::trainer
