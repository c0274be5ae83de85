// SPDX-License-Identifier: MIT
#include "store/run_length.h"

#include <algorithm>

#include <QString>

#include "ipc/sound_values.h"

namespace lockstep::core {
namespace {

std::optional<qlonglong> positiveIn(const About &about, const char *key) {
    const auto found = about.find(key);
    bool whole = false;
    const qlonglong count = found == about.end() ? 0 : QString::fromStdString(found->second).toLongLong(&whole);
    return whole && count > 0 ? std::optional(count) : std::nullopt;
}

} // namespace

void RunLength::take(const StateFrame &body) {
    if (body.epochs)
        m_epochs = body.epochs;
    if (body.totalSteps)
        m_steps = body.totalSteps;
    if (body.stepsPerEpoch)
        m_stepsPerEpoch = body.stepsPerEpoch;
    // A script learns the length of its loader epoch by epoch.
    if (!body.totalSteps && !m_scriptSaidSteps && body.stepsPerEpoch && m_epochs &&
        *body.stepsPerEpoch <= mostCounted / std::max(1, *m_epochs))
        m_steps = *body.stepsPerEpoch * *m_epochs;
}

void RunLength::take(const About &about) {
    if (const auto epochs = positiveIn(about, "epochs"); epochs && *epochs <= INT32_MAX && !m_epochs)
        m_epochs = int(*epochs);
    if (const auto steps = positiveIn(about, "total_steps"); steps && *steps <= mostCounted) {
        m_steps = *steps;
        m_scriptSaidSteps = true;
    }
}

double RunLength::epochsAt(std::int64_t step, int epoch) const {
    return m_stepsPerEpoch && *m_stepsPerEpoch > 0 ? double(step + 1) / double(*m_stepsPerEpoch) : double(epoch);
}

} // namespace lockstep::core
