// SPDX-License-Identifier: MIT
#include "trainer/strategies/stage_replicas.h"

#include <algorithm>
#include <string>

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include "trainer/report/phase_clock.h"
#include "trainer/report/training_position.h"
#include "trainer/strategies/flat_tensors.h"

namespace lockstep::trainer {
namespace {

// A time goes with the gradients as numbers of their own, each of which a float holds exactly: three of 20 bits, which last 36 years.
constexpr std::int64_t digits = 3, bitsADigit = 20, digit = std::int64_t{1} << bitsADigit;

} // namespace

StageReplicas::StageReplicas(Communicator &communicator, int stages, bool oneClock)
    : m_communicator(communicator), m_replica(communicator.rank() / stages),
      m_replicas(communicator.worldSize() / stages) {
    if (oneClock)
        m_originNs =
            static_cast<std::int64_t>(communicator.gather({static_cast<double>(monotonicNs())}).front().front());
    m_group = communicator.makeGroup("stage " + std::to_string(communicator.rank() % stages), m_replica, m_replicas);
}

void StageReplicas::writeReady(const torch::Tensor &tail, std::int64_t readyNs) const {
    std::int64_t left = std::max<std::int64_t>(0, readyNs - m_originNs);
    for (std::int64_t i = 0; i < digits; ++i, left /= digit)
        tail[1 + m_replica * digits + i].fill_(static_cast<double>(left % digit));
}

std::int64_t StageReplicas::lastReady(const torch::Tensor &tail) const {
    const torch::Tensor numbers = tail.to(torch::kFloat64);
    const double *number = numbers.const_data_ptr<double>() + 1;
    std::int64_t last = 0;
    for (int replica = 0; replica < m_replicas; ++replica) {
        std::int64_t readyNs = 0;
        for (std::int64_t i = digits; i > 0; --i)
            readyNs = readyNs * digit + static_cast<std::int64_t>(number[replica * digits + i - 1]);
        last = std::max(last, readyNs);
    }
    return m_originNs + last;
}

StageReplicas::Outcome StageReplicas::average(const std::vector<torch::Tensor> &parameters, bool stop) {
    const c10::AutoGradMode noGrad(false);
    const InCollective here(m_communicator.position());
    const std::int64_t startNs = monotonicNs();
    std::vector<torch::Tensor> parts;
    for (const torch::Tensor &parameter : parameters) {
        if (!parameter.grad().defined())
            parameter.mutable_grad() = at::zeros_like(parameter);
        parts.push_back(parameter.grad());
    }
    const auto options =
        parameters.empty() ? at::TensorOptions(at::kFloat) : parameters.front().options().requires_grad(false);
    parts.push_back(at::zeros({1 + m_replicas * digits}, options));
    const torch::Tensor flat = flattened(parts),
                        tail = flat.narrow(0, flat.numel() - parts.back().numel(), parts.back().numel());
    parts.pop_back();
    tail[0].fill_(stop ? 1 : 0);
    const std::int64_t readyNs = monotonicNs();
    if (m_originNs > 0)
        writeReady(tail, readyNs);
    std::vector<torch::Tensor> sum{flat};
    m_group->allreduce(sum)->wait();
    const torch::Tensor gradients = flat.narrow(0, 0, flat.numel() - tail.numel());
    copyFlat(gradients.div_(m_replicas), parts);
    Outcome out{.stop = tail[0].item<double>() > 0, .tookNs = monotonicNs() - startNs, .waitNs = 0};
    if (m_originNs > 0)
        out.waitNs = std::clamp<std::int64_t>(lastReady(tail) - readyNs, 0, out.tookNs);
    return out;
}

} // namespace lockstep::trainer
