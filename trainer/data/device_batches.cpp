// SPDX-License-Identifier: MIT
#include "trainer/data/device_batches.h"

#include <cstring>

#include <torch/torch.h>

#include "trainer/data/affine.h"

namespace lockstep::trainer {

namespace {

constexpr int termsOfImage = 2 * imageSide; ///< x and y of the source, for each column or row

/// What one copy brings to the device for a batch: the samples' indices and, with affine, each one's AffineTerms. Eight bytes each, the shift four.
std::int64_t bytesOf(std::int64_t n, bool affine) {
    return 8 * n * (1 + (affine ? 2 * termsOfImage + 1 : 0));
}

template <class T> torch::Tensor part(const torch::Tensor &bytes, std::int64_t &offset, std::int64_t count) {
    const std::int64_t size = count * std::int64_t(sizeof(T));
    auto found = bytes.narrow(0, offset, size).view(c10::CppTypeToScalarType<T>());
    offset += size;
    return found;
}

/// The parts of that copy, on host or device.
struct Terms {
    torch::Tensor samples;       ///< int64 [n]
    torch::Tensor columns, rows; ///< fp64 [n, 2, imageSide]
    torch::Tensor shift;         ///< fp32 [n, 2]

    Terms(const torch::Tensor &bytes, std::int64_t n, bool affine) {
        std::int64_t offset = 0;
        samples = part<std::int64_t>(bytes, offset, n);
        if (!affine)
            return;
        columns = part<double>(bytes, offset, n * termsOfImage).view({n, 2, imageSide});
        rows = part<double>(bytes, offset, n * termsOfImage).view({n, 2, imageSide});
        shift = part<float>(bytes, offset, 2 * n).view({n, 2});
    }
};

} // namespace

DeviceBatches::DeviceBatches(const DataSet &set, const LoaderOptions &options)
    : m_options(options), m_device(options.device.value_or(c10::Device(torch::kCPU))), m_spec(set.spec),
      m_inputs(set.inputs.to(m_device)), m_targets(set.targets.to(m_device)) {}

std::int64_t DeviceBatches::samplesOf(const torch::Tensor &terms) const {
    return terms.size(0) / bytesOf(1, m_options.affine);
}

Batch DeviceBatches::prepare(std::span<const std::int64_t> samples, std::int64_t epoch, std::int64_t real) const {
    const auto n = static_cast<std::int64_t>(samples.size());
    Batch batch;
    batch.real = real;
    batch.maker = this;
    // Page-locked where that lets the copy run beside the computation.
    batch.terms = torch::empty({bytesOf(n, m_options.affine)},
                               torch::TensorOptions(torch::kUInt8).pinned_memory(m_device.is_cuda()));
    const Terms host(batch.terms, n, m_options.affine);
    std::copy(samples.begin(), samples.end(), host.samples.data_ptr<std::int64_t>());
    for (std::int64_t i = 0; m_options.affine && i < n; ++i) {
        const AffineTerms terms = affineTerms(drawAffine(m_options.seed, epoch, samples[static_cast<std::size_t>(i)]));
        std::memcpy(host.columns.data_ptr<double>() + i * termsOfImage, &terms.columns, sizeof terms.columns);
        std::memcpy(host.rows.data_ptr<double>() + i * termsOfImage, &terms.rows, sizeof terms.rows);
        std::memcpy(host.shift.data_ptr<float>() + i * 2, &terms.shift, sizeof terms.shift);
    }
    return batch;
}

void DeviceBatches::makeOf(const torch::Tensor &terms, Batch &batch) const {
    const torch::NoGradGuard noGrad;
    const std::int64_t n = samplesOf(terms);
    const Terms parts(terms, n, m_options.affine);
    batch.targets = m_targets.index_select(0, parts.samples);
    batch.inputs = m_inputs.index_select(0, parts.samples);
    if (m_spec.sample.values == Values::Tokens)
        return;
    auto pixels = std::move(batch.inputs);
    if (m_options.affine) {
        // As in AffineTerms: each coordinate falls on the pixel that the host would take.
        const auto grid = (parts.columns.unsqueeze(2) + parts.rows.unsqueeze(3)).to(torch::kFloat32);
        namespace F = torch::nn::functional;
        pixels = F::grid_sample(
            pixels.to(torch::kFloat32), grid.add_(parts.shift.view({n, 2, 1, 1})).permute({0, 2, 3, 1}),
            F::GridSampleFuncOptions().mode(torch::kNearest).padding_mode(torch::kZeros).align_corners(false));
    }
    batch.inputs = pixels.to(m_options.dtype).div_(255).sub_(m_spec.mean).div_(m_spec.std);
}

Batch DeviceBatches::make(std::span<const std::int64_t> samples, std::int64_t epoch, std::int64_t real) const {
    Batch batch = prepare(samples, epoch, real);
    makeOf(batch.terms.to(m_device, /*non_blocking=*/true), batch);
    batch.terms = torch::Tensor();
    return batch;
}

} // namespace lockstep::trainer
