// SPDX-License-Identifier: MIT
#include "trainer/data/batch_maker.h"

#include <algorithm>

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

/// A new tensor for a batch: one row per sample, memory not written yet.
torch::Tensor emptyRows(const torch::Tensor &all, std::size_t samples, const torch::TensorOptions &options) {
    auto sizes = all.sizes().vec();
    sizes.front() = static_cast<std::int64_t>(samples);
    return torch::empty(sizes, options);
}

/// Copies whole numbers unchanged: targets, tokens.
torch::Tensor copiedRows(const torch::Tensor &all, std::span<const std::int64_t> samples,
                         const torch::TensorOptions &options) {
    auto rows = emptyRows(all, samples.size(), options.dtype(torch::kInt64));
    const std::int64_t width = all.stride(0);
    const auto *from = all.const_data_ptr<std::int64_t>();
    auto *out = rows.data_ptr<std::int64_t>();
    for (const auto sample : samples)
        out = std::copy_n(from + sample * width, width, out);
    return rows;
}

/// The transform of --loader item: one image at a time, with torch's own operations, as torchvision does it.
template <class T> torch::Tensor affineImage(const torch::Tensor &image, const AffineDraw &draw) {
    auto moved = torch::empty_like(image);
    shiftedInto(moved.template data_ptr<T>(), image.template const_data_ptr<T>(), draw);
    return moved;
}

} // namespace

BatchMaker::BatchMaker(const DataSet &set, const LoaderOptions &options)
    : m_set(set), m_options(options), m_pin(options.pinMemory && at::hasCUDA()),
      m_table32(pixelTable<float>(set.spec.mean, set.spec.std)),
      m_table64(pixelTable<double>(set.spec.mean, set.spec.std)) {}

template <class T>
void BatchMaker::fill(torch::Tensor &inputs, std::span<const std::int64_t> samples, std::int64_t epoch,
                      const std::array<T, 256> &table) const {
    const auto *pixels = m_set.inputs.const_data_ptr<std::uint8_t>();
    const std::int64_t count = m_set.spec.sample.count();
    auto *out = inputs.data_ptr<T>();
    AffineSources sources;
    for (const auto sample : samples) {
        const auto *image = pixels + sample * count;
        if (m_options.affine) {
            affineSources(drawAffine(m_options.seed, epoch, sample), sources);
            for (int i = 0; i < imagePixels; ++i)
                out[i] = table[sources[i] < 0 ? 0 : image[sources[i]]];
        } else {
            for (std::int64_t i = 0; i < count; ++i)
                out[i] = table[image[i]];
        }
        out += count;
    }
}

/// Texts, as long as the longest of them.
torch::Tensor BatchMaker::padded(std::span<const std::int64_t> samples, const torch::TensorOptions &options) const {
    std::int64_t longest = m_options.padFully ? m_set.texts.longest() : 0;
    for (const auto sample : samples)
        longest = std::max(longest, m_set.texts.lengths()[static_cast<std::size_t>(sample)]);
    return m_set.texts.padded(samples, longest, options);
}

torch::Tensor BatchMaker::item(std::int64_t sample, std::int64_t epoch) const {
    if (m_set.spec.sample.values == Values::Tokens)
        return m_set.inputs[sample];
    auto image = m_set.inputs[sample].to(m_options.dtype).div(255);
    if (m_options.affine) {
        const auto draw = drawAffine(m_options.seed, epoch, sample);
        image = m_options.dtype == torch::kFloat64 ? affineImage<double>(image, draw) : affineImage<float>(image, draw);
    }
    return image.sub_(m_set.spec.mean).div_(m_set.spec.std);
}

Batch BatchMaker::make(std::span<const std::int64_t> samples, std::int64_t epoch, std::int64_t real) const {
    const auto pinned = torch::TensorOptions().pinned_memory(m_pin);
    Batch batch;
    batch.real = real;
    batch.targets = copiedRows(m_set.targets, samples, pinned);
    if (m_options.targetsOnly)
        return batch;
    if (m_set.spec.sample.values == Values::Text) {
        batch.inputs = padded(samples, pinned);
        return batch;
    }
    if (m_options.itemwise) {
        std::vector<torch::Tensor> items;
        items.reserve(samples.size());
        for (const auto sample : samples)
            items.push_back(item(sample, epoch));
        batch.inputs = torch::stack(items);
        if (m_pin)
            batch.inputs = batch.inputs.pin_memory();
        return batch;
    }
    if (m_set.spec.sample.values == Values::Tokens) {
        batch.inputs = copiedRows(m_set.inputs, samples, pinned);
        return batch;
    }
    batch.inputs = emptyRows(m_set.inputs, samples.size(), pinned.dtype(m_options.dtype));
    if (m_options.dtype == torch::kFloat64)
        fill(batch.inputs, samples, epoch, m_table64);
    else
        fill(batch.inputs, samples, epoch, m_table32);
    return batch;
}

torch::Tensor normalize(const torch::Tensor &inputs, const DataSetSpec &spec, torch::Dtype dtype) {
    if (spec.sample.values != Values::Pixels)
        return inputs;
    const auto source = inputs.to(torch::kCPU, torch::kUInt8).contiguous();
    auto out = torch::empty(source.sizes(), dtype);
    const auto *in = source.const_data_ptr<std::uint8_t>();
    const auto spread = [&, count = source.numel()]<class T>(const std::array<T, 256> &table) {
        auto *value = out.data_ptr<T>();
        for (std::int64_t i = 0; i < count; ++i)
            value[i] = table[in[i]];
    };
    if (dtype == torch::kFloat64)
        spread(pixelTable<double>(spec.mean, spec.std));
    else
        spread(pixelTable<float>(spec.mean, spec.std));
    return out;
}

} // namespace lockstep::trainer
