// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <c10/core/Stream.h>
#include <torch/types.h>

#include "ipc/frames.h"
#include "trainer/report/epoch_totals.h"
#include "trainer/report/phase_clock.h"
#include "trainer/report/step_metric.h"

namespace lockstep::trainer {

/// Collects steps into windows of about 100 ms and into epochs. Losses on a GPU are read once per window, never once
/// per step. Used from the training thread.
class StepRecorder {
public:
    struct Outputs {
        std::function<void(StepsFrame)> window;
        std::function<void(std::int64_t step, double loss)> nonFinite; ///< first step of a stretch of non-finite losses
    };
    /// `window`: for how long steps are collected before they are sent; 0: each step is sent alone. `devices`: names of
    /// DP's devices, in the order of addStep()'s times. `throwsAway`: training goes back from steps whose loss is not finite,
    /// so they are left out of their epoch's loss, as are values that are not finite of its metrics.
    StepRecorder(PhaseClock &clock, Outputs outputs, std::chrono::nanoseconds window = std::chrono::milliseconds(100),
                 std::vector<std::string> devices = {}, bool throwsAway = false);

    /// `before`: the epoch's totals from before an interruption (resume, rollback).
    void startEpoch(int epoch, const EpochTotals &before);
    /// Training has gone back to good parameters: a loss that isn't finite begins a stretch of its own.
    void afterRollback() { m_wasFinite = true; }
    /// Whether the next step is the first of its window: for metrics that are too expensive to measure at each step.
    [[nodiscard]] bool beginsWindow() const { return m_beginsWindow; }
    /// Adds a step. Call it after the step's last lap. `loss` is the mean over `samples`, on any device. `devices` are
    /// each device's own times in DP's parallel parts, if they are known. Without samples its loss doesn't count.
    void addStep(std::int64_t step, std::int64_t samples, torch::Tensor loss, std::span<const StepTimes> devices = {},
                 std::vector<StepMetric> metrics = {});
    /// Sends the window if it is full, or if `force`.
    void flush(bool force);
    /// After the epoch's last step: adds to a metric's sum over the epoch, without a step of its own. Its mean is the sum a step.
    void addToSum(std::string_view metric, double value);
    /// Ends the epoch now and returns its totals.
    EpochTotals finishEpoch();
    /// Each device's times in the epoch that ended; empty if they are not known for all of it.
    [[nodiscard]] std::vector<ReplicaTime> epochReplicas() const;
    /// The metrics over the epoch that ended; after a resume, over the steps since then.
    [[nodiscard]] const Scalars &epochScalars() const { return m_epochScalars; }

private:
    struct Pending {
        std::int64_t step, samples;
        torch::Tensor loss;
        std::vector<StepTimes> devices;
        std::vector<StepMetric> metrics;
        double lossValue = 0; ///< set by readTensors()
    };
    void takeTimes(bool wait);
    void take(bool wait);
    void sendWindow();
    void readTensors(std::size_t count);
    void account(const Pending &step, const StepTimes &times);
    void accountLoss(const Pending &step);

    [[nodiscard]] std::vector<ReplicaTime> replicasOf(const std::vector<PhaseTotals> &totals) const;

    PhaseClock &m_clock;
    Outputs m_outputs;
    std::int64_t m_windowNs;
    std::vector<std::string> m_devices;
    bool m_throwsAway;
    std::vector<PhaseTotals> m_windowDevices, m_epochDevices;
    bool m_wholeEpoch = true;
    std::deque<Pending> m_pending;
    std::deque<StepTimes> m_known; ///< of the oldest pending steps
    std::optional<c10::Stream> m_readStream;
    std::optional<StepsFrame> m_window;
    PhaseTotals m_windowPhases;
    double m_windowLossSum = 0;
    EpochTotals m_epoch;
    Scalars m_epochScalars;
    int m_epochNumber = 1;
    std::int64_t m_epochStartNs = 0, m_windowStartNs = 0;
    bool m_beginsWindow = true, m_firstWindow = true, m_wasFinite = true;
};

} // namespace lockstep::trainer
