// SPDX-License-Identifier: MIT
#pragma once
#include "analysis/curves/curve.h"

namespace lockstep::core {

/// Exponential moving average along x: a value `reach` behind has the weight 1/e. It works by distance, not by point, so that
/// runs that report more often are not smoothed less and curves stay comparable. Continues where it stopped: each point is
/// read once. Values that are not finite pass unchanged and affect no later value.
class Smoother {
public:
    explicit Smoother(double reach = 0) : m_reach(reach) {}
    [[nodiscard]] double reach() const { return m_reach; }
    /// Appends the missing points to `out`, which then has as many points as `raw`, at the same x.
    void advance(const Curve &raw, Curve &out);

private:
    double m_reach, m_sum = 0, m_weight = 0, m_before = 0;
};

} // namespace lockstep::core
