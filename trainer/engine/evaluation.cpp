// SPDX-License-Identifier: MIT
#include "trainer/engine/evaluation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include "ipc/class_limit.h"
#include "trainer/data/loader.h"
#include "trainer/data/sampler.h"
#include "trainer/report/phase_clock.h"

namespace lockstep::trainer {

namespace {
constexpr std::int64_t batchSize = 200;
}

Evaluator::Evaluator(const DataSet &test, Communicator &communicator, c10::Device device, torch::Dtype dtype)
    : m_communicator(communicator), m_device(device), m_dtype(dtype), m_spec(test.spec), m_samples(test.size()),
      m_texts(test.texts.padding()) {
    auto shard = evaluationShard(test.size(), communicator.worldSize(), communicator.rank());
    if (!test.texts.empty()) { // short texts beside short ones need little padding
        std::ranges::stable_sort(shard, std::ranges::greater(), [&](std::int64_t sample) {
            return test.texts.lengths()[static_cast<std::size_t>(sample)];
        });
        for (const std::int64_t sample : shard)
            m_texts.add(test.texts[sample]);
    }
    const auto indices = torch::tensor(shard, torch::kInt64);
    if (test.texts.empty()) // the same shard without a copy of it
        m_inputs = test.inputs.slice(0, communicator.rank(), std::nullopt, communicator.worldSize());
    m_targets = test.targets.index_select(0, indices);
}

torch::Tensor Evaluator::inputsOf(std::int64_t first, std::int64_t count) const {
    if (m_texts.empty())
        return normalize(m_inputs.narrow(0, first, count), m_spec, m_dtype);
    std::vector<std::int64_t> texts(static_cast<std::size_t>(count));
    std::iota(texts.begin(), texts.end(), first);
    return m_texts.padded(texts, m_texts.lengths()[static_cast<std::size_t>(first)]);
}

EvalFrame Evaluator::run(Model &model, int epoch) {
    const std::int64_t startNs = monotonicNs();
    const int classes = m_spec.sample.classes;
    const c10::AutoGradMode noGrad(false);
    model.eval();
    const auto options = torch::TensorOptions().device(m_device);
    auto right = torch::zeros({classes}, options.dtype(torch::kInt64)), seen = torch::zeros_like(right);
    auto loss = torch::zeros({}, options.dtype(torch::kFloat64));
    for (std::int64_t first = 0; first < m_targets.size(0); first += batchSize) {
        const std::int64_t count = std::min(batchSize, m_targets.size(0) - first);
        const auto inputs = inputsOf(first, count).to(m_device);
        const auto targets = m_targets.narrow(0, first, count).to(m_device);
        const auto logits = model.forward(inputs);
        loss += at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum);
        seen += at::bincount(targets.flatten(), {}, classes);
        right += at::bincount(targets.masked_select(logits.argmax(1) == targets), {}, classes);
    }
    model.train();
    std::vector<double> sums{loss.item<double>()};
    for (const auto &counts : {right.to(torch::kCPU), seen.to(torch::kCPU)})
        for (int c = 0; c < classes; ++c)
            sums.push_back(static_cast<double>(counts[c].item<std::int64_t>()));
    sums = m_communicator.sum(std::move(sums));

    EvalFrame frame;
    frame.epoch = epoch;
    double allRight = 0, allSeen = 0;
    for (int c = 0; c < classes; ++c) {
        const double classRight = sums.at(static_cast<std::size_t>(1 + c));
        const double classSeen = sums.at(static_cast<std::size_t>(1 + classes + c));
        frame.perClassAccuracy.push_back(classSeen > 0 ? classRight / classSeen : std::nan(""));
        allRight += classRight;
        allSeen += classSeen;
    }
    if (frame.perClassAccuracy.size() > mostClasses)
        frame.perClassAccuracy.clear();
    frame.accuracy = allRight / allSeen;
    frame.loss = sums[0] / allSeen;
    frame.samples = m_samples;
    frame.durationS = static_cast<double>(monotonicNs() - startNs) * 1e-9;
    return frame;
}

} // namespace lockstep::trainer
