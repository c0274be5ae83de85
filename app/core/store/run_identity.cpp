// SPDX-License-Identifier: MIT
#include "store/run_identity.h"

namespace lockstep::core {

void RunIdentity::useRunId(const std::string &runId) {
    if (m_runId.isEmpty())
        m_runId = QString::fromStdString(runId);
}

void RunIdentity::useBegin(const Frame &frame) {
    if (m_begin.empty() && frame.rank && frame.monoNs > 0 && frame.wallUs > 0)
        m_begin = "rank " + std::to_string(*frame.rank) + " at " + std::to_string(frame.wallUs) + " us, " +
                  std::to_string(frame.monoNs) + " ns";
}

QString RunIdentity::title() const {
    return m_record && !m_record->name.empty() ? QString::fromStdString(m_record->name) : m_runId;
}

QString RunIdentity::method() const {
    if (!m_record || !m_record->config) {
        const auto reported = about().find("method");
        return reported == about().end() ? QString() : QString::fromStdString(reported->second);
    }
    const std::string_view name = toString(m_record->config->method);
    return QString::fromUtf8(name.data(), qsizetype(name.size()));
}

} // namespace lockstep::core
