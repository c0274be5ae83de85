// SPDX-License-Identifier: MIT
#include "analysis/curves/smoother.h"

#include <cmath>

namespace lockstep::core {

void Smoother::advance(const Curve &raw, Curve &out) {
    for (qsizetype i = out.size(); i < raw.size(); ++i) {
        const QPointF &p = raw.at(i);
        if (!std::isfinite(p.y()) || !(m_reach > 0)) {
            out.append(p.x(), p.y());
            continue;
        }
        const double kept = m_weight > 0 ? std::exp(-(p.x() - m_before) / m_reach) : 0;
        m_sum = m_sum * kept + p.y();
        m_weight = m_weight * kept + 1;
        m_before = p.x();
        out.append(p.x(), m_sum / m_weight);
    }
}

} // namespace lockstep::core
