// SPDX-License-Identifier: MIT
#include "store/run_identity.h"

namespace lockstep::core {

void RunIdentity::hearRunId(const std::string &runId) {
    if (m_runId.isEmpty())
        m_runId = QString::fromStdString(runId);
}

QString RunIdentity::title() const {
    return m_record && !m_record->name.empty() ? QString::fromStdString(m_record->name) : m_runId;
}

QString RunIdentity::method() const {
    if (!m_record || !m_record->config) {
        const auto reported = m_about.find("method");
        return reported == m_about.end() ? QString() : QString::fromStdString(reported->second);
    }
    const std::string_view name = toString(m_record->config->method);
    return QString::fromUtf8(name.data(), qsizetype(name.size()));
}

} // namespace lockstep::core
