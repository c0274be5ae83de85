// SPDX-License-Identifier: MIT
#include "trainer/report/step_recorder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/Functions.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/core/StreamGuard.h>

namespace lockstep::trainer {

StepRecorder::StepRecorder(PhaseClock &clock, Outputs outputs, std::chrono::nanoseconds window,
                           std::vector<std::string> devices, bool throwsAway)
    : m_clock(clock), m_outputs(std::move(outputs)), m_windowNs(window.count()), m_devices(std::move(devices)),
      m_throwsAway(throwsAway) {}

void StepRecorder::startEpoch(int epoch, const EpochTotals &before) {
    const bool goesOn = epoch == m_epochNumber && m_epoch.steps > 0 && before.steps > 0; // after a rollback
    if (!goesOn) {
        m_epochScalars.clear();
        m_epochDevices.clear();
        m_wholeEpoch = before.steps == 0;
    }
    m_epochNumber = epoch;
    m_epoch = before;
    m_beginsWindow = true;
    m_epochStartNs = m_windowStartNs = m_clock.start();
}

void StepRecorder::addStep(std::int64_t step, std::int64_t samples, torch::Tensor loss,
                           std::span<const StepTimes> devices, std::vector<StepMetric> metrics) {
    m_clock.endStep();
    m_beginsWindow = false;
    m_pending.push_back({step, samples, std::move(loss), {devices.begin(), devices.end()}, std::move(metrics)});
}

void StepRecorder::flush(bool force) {
    const std::int64_t now = monotonicNs();
    takeTimes(false); // read a GPU's times while it computes: reading all at the end of a window would leave it idle
    // Send the run's very first step at once, because a person is waiting for the first point.
    if (!force && !m_firstWindow && now - m_windowStartNs < m_windowNs)
        return;
    take(force || m_firstWindow);
    m_firstWindow = false;
    m_windowStartNs = now;
    m_beginsWindow = true;
    sendWindow();
}

void StepRecorder::sendWindow() {
    if (!m_window)
        return;
    if (m_window->samples > 0)
        m_window->loss->mean = m_windowLossSum / static_cast<double>(m_window->samples);
    m_window->phases = m_windowPhases.toFrame();
    m_window->replicas = replicasOf(m_windowDevices);
    m_windowDevices.clear();
    m_outputs.window(std::move(*m_window));
    m_window.reset();
    m_windowPhases.clear();
    m_windowLossSum = 0;
}

void StepRecorder::takeTimes(bool wait) {
    while (auto times = m_clock.takeStep(wait))
        m_known.push_back(*times);
}

/// Without `wait`, a GPU's unfinished steps come with the next window: waiting for them would leave the GPU idle.
void StepRecorder::take(bool wait) {
    takeTimes(wait);
    readTensors(m_known.size());
    while (!m_known.empty()) {
        account(m_pending.front(), m_known.front());
        m_pending.pop_front();
        m_known.pop_front();
        if (m_windowNs == 0)
            sendWindow();
    }
}

/// Converts losses and metrics of the oldest `count` steps, which have ended, to numbers. From a GPU they come in one
/// copy, on a stream of its own: in the training's stream the copy would wait for everything that is queued there. The
/// stream is taken from the pool once only, since the pool would hand out the training's stream after a while.
void StepRecorder::readTensors(std::size_t count) {
    std::vector<torch::Tensor> tensors;
    std::vector<double *> numbers;
    const auto read = [&](const torch::Tensor &tensor, double &number) {
        if (tensor.device().is_cpu()) {
            number = tensor.item<double>();
            return;
        }
        tensors.push_back(tensor);
        numbers.push_back(&number);
    };
    for (std::size_t i = 0; i < count; ++i) {
        Pending &step = m_pending[i];
        read(step.loss, step.lossValue);
        for (StepMetric &metric : step.metrics)
            if (const auto *held = std::get_if<torch::Tensor>(&metric.value)) {
                const torch::Tensor tensor = *held;
                read(tensor, metric.value.emplace<double>());
            }
    }
    if (tensors.empty())
        return;
    const c10::Device device = tensors.front().device();
    if (!m_readStream)
        m_readStream = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
    const c10::StreamGuard apart(*m_readStream);
    const torch::Tensor host = at::stack(tensors).to(torch::kCPU, torch::kFloat64);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        *numbers[i] = host.const_data_ptr<double>()[i];
}

void StepRecorder::accountLoss(const Pending &step) {
    if (step.samples == 0) // padded duplicates alone have no loss, and another rank's samples have that rank's
        return;
    const double loss = step.lossValue;
    if (!m_window->loss)
        m_window->loss = LossWindow{loss, loss, loss, loss};
    LossWindow &window = *m_window->loss;
    window.min = std::isnan(loss) ? loss : std::fmin(window.min, loss);
    window.max = std::isnan(loss) ? loss : std::fmax(window.max, loss);
    window.last = loss;
    m_windowLossSum += loss * static_cast<double>(step.samples);
    if (m_throwsAway && !std::isfinite(loss))
        m_epoch.leftOut += step.samples;
    else
        m_epoch.lossSum += loss * static_cast<double>(step.samples);
    if (!std::isfinite(loss) && m_wasFinite)
        m_outputs.nonFinite(step.step, loss);
    m_wasFinite = std::isfinite(loss);
}

void StepRecorder::account(const Pending &step, const StepTimes &times) {
    if (!m_window) {
        m_window.emplace();
        m_window->epoch = m_epochNumber;
        m_window->firstStep = step.step;
    }
    m_window->lastStep = step.step;
    ++m_window->count;
    m_window->samples += step.samples;
    m_windowPhases.add(times);
    for (auto *totals : {&m_windowDevices, &m_epochDevices}) {
        totals->resize(std::max(totals->size(), step.devices.size()));
        for (std::size_t i = 0; i < step.devices.size(); ++i)
            (*totals)[i].add(step.devices[i]);
    }
    for (const StepMetric &metric : step.metrics) {
        const double value = std::get<double>(metric.value);
        add(m_window->scalars, metric.name, value);
        if (!m_throwsAway || std::isfinite(value))
            add(m_epochScalars, metric.name, value);
    }

    m_epoch.samples += step.samples;
    ++m_epoch.steps;
    m_epoch.phases.add(times);
    accountLoss(step);
}

void StepRecorder::addToSum(std::string_view metric, double value) {
    flush(true); // in a short epoch the steps that measured it are still in the first window
    if (const auto known = m_epochScalars.find(metric); known != m_epochScalars.end())
        known->second.sum += value;
}

EpochTotals StepRecorder::finishEpoch() {
    flush(true);
    const std::int64_t endNs = m_clock.lap(Phase::Other, {});
    m_epoch.durationS += static_cast<double>(endNs - m_epochStartNs) / 1e9;
    m_epoch.phases.addTail(m_clock.takeTail());
    return m_epoch;
}

std::vector<ReplicaTime> StepRecorder::replicasOf(const std::vector<PhaseTotals> &totals) const {
    std::vector<ReplicaTime> out;
    for (std::size_t i = 0; i < totals.size() && i < m_devices.size(); ++i)
        out.push_back({m_devices[i], totals[i].toFrame()});
    return out;
}

std::vector<ReplicaTime> StepRecorder::epochReplicas() const {
    return m_wholeEpoch ? replicasOf(m_epochDevices) : std::vector<ReplicaTime>();
}

} // namespace lockstep::trainer
