// SPDX-License-Identifier: MIT
#pragma once
#include "analysis/curves/curve.h"

namespace lockstep::core {

/// Exponential moving average along x: what lies `reach` behind counts 1/e. By distance and not by point, so that runs
/// that report more often are not smoothed less and curves stay comparable. Goes on where it stopped: each point is looked
/// at once. Values that are not finite go through as they are and change nothing after them.
class Smoother {
public:
    explicit Smoother(double reach = 0) : m_reach(reach) {}
    [[nodiscard]] double reach() const { return m_reach; }
    /// Appends to `out` what it lacks of `raw`: as many points, at the same x.
    void advance(const Curve &raw, Curve &out);

private:
    double m_reach, m_sum = 0, m_weight = 0, m_before = 0;
};

} // namespace lockstep::core
