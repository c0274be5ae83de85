#include "trainer/report/step_recorder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/Functions.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/core/StreamGuard.h>

namespace lockstep::trainer {

StepRecorder::StepRecorder(PhaseClock &clock, Outputs outputs, std::chrono::nanoseconds window,
                           std::vector<std::string> devices)
    : m_clock(clock), m_outputs(std::move(outputs)), m_windowNs(window.count()), m_devices(std::move(devices)) {}

void StepRecorder::startEpoch(int epoch, const EpochTotals &before) {
    m_epochNumber = epoch;
    m_epoch = before;
    m_wholeEpoch = before.steps == 0;
    m_epochDevices.clear();
    m_clock.start();
    m_epochStartNs = m_windowStartNs = monotonicNs();
}

void StepRecorder::addStep(std::int64_t step, std::int64_t samples, torch::Tensor loss,
                           std::span<const StepTimes> devices) {
    m_clock.endStep();
    m_pending.push_back({step, samples, std::move(loss), {devices.begin(), devices.end()}});
}

void StepRecorder::flush(bool force) {
    const std::int64_t now = monotonicNs();
    takeTimes(false); // a GPU's, bit by bit while it computes: all at a window's end would leave it idle
    // The run's very first step is shown at once: a person is waiting for the first point.
    if (!force && !m_firstWindow && now - m_windowStartNs < m_windowNs)
        return;
    take(force || m_firstWindow);
    m_firstWindow = false;
    m_windowStartNs = now;
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

/// Without `wait`, a GPU's steps that are still under way come with the next window: waiting for them would leave it idle.
void StepRecorder::take(bool wait) {
    takeTimes(wait);
    const std::vector<double> losses = lossesOf(m_known.size());
    for (const double loss : losses) {
        account(m_pending.front(), loss, m_known.front());
        m_pending.pop_front();
        m_known.pop_front();
        if (m_windowNs == 0)
            sendWindow();
    }
}

/// Of the oldest `count` steps, which are over. From a GPU in one copy, by a stream of its own: in the training's it would wait for
/// all that is queued there. The same one each time: the pool goes round, and would come to training's.
std::vector<double> StepRecorder::lossesOf(std::size_t count) {
    std::vector<double> losses;
    losses.reserve(count);
    if (count == 0 || m_pending.front().loss.device().is_cpu()) {
        for (std::size_t i = 0; i < count; ++i)
            losses.push_back(m_pending[i].loss.item<double>());
        return losses;
    }
    std::vector<torch::Tensor> all;
    all.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
        all.push_back(m_pending[i].loss);
    const c10::Device device = all.front().device();
    if (!m_lossStream)
        m_lossStream = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
    const c10::StreamGuard apart(*m_lossStream);
    const torch::Tensor host = at::stack(all).to(torch::kCPU, torch::kFloat64);
    losses.assign(host.const_data_ptr<double>(), host.const_data_ptr<double>() + count);
    return losses;
}

void StepRecorder::account(const Pending &step, double loss, const StepTimes &times) {
    const auto samples = static_cast<double>(step.samples);
    if (!m_window) {
        m_window.emplace();
        m_window->epoch = m_epochNumber;
        m_window->firstStep = step.step;
    }
    if (step.samples > 0) { // padded duplicates alone have no loss that counts
        if (!m_window->loss)
            m_window->loss = LossWindow{loss, loss, loss, loss};
        LossWindow &window = *m_window->loss;
        window.min = std::isnan(loss) ? loss : std::fmin(window.min, loss);
        window.max = std::isnan(loss) ? loss : std::fmax(window.max, loss);
        window.last = loss;
    }
    m_window->lastStep = step.step;
    ++m_window->count;
    m_window->samples += step.samples;
    m_windowLossSum += step.samples > 0 ? loss * samples : 0;
    m_windowPhases.add(times);
    for (auto *totals : {&m_windowDevices, &m_epochDevices}) {
        totals->resize(std::max(totals->size(), step.devices.size()));
        for (std::size_t i = 0; i < step.devices.size(); ++i)
            (*totals)[i].add(step.devices[i]);
    }

    m_epoch.lossSum += step.samples > 0 ? loss * samples : 0;
    m_epoch.samples += step.samples;
    ++m_epoch.steps;
    m_epoch.phases.add(times);

    if (!std::isfinite(loss) && m_wasFinite)
        m_outputs.nonFinite(step.step, loss);
    m_wasFinite = std::isfinite(loss);
}

EpochTotals StepRecorder::finishEpoch() {
    flush(true);
    m_clock.lap(Phase::Other, {});
    m_epoch.durationS += static_cast<double>(monotonicNs() - m_epochStartNs) / 1e9;
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
