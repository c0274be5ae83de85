// SPDX-License-Identifier: MIT
#include "store/run_lifecycle.h"

namespace lockstep::core {

void RunLifecycle::take(const Frame &frame, const StateFrame &body) {
    if (frame.rank == 0)
        m_ofRank0 = body.state;
    if (frame.rank || frame.node.value_or(0) > 0)
        return; // only agent 0 reports the state of the whole run
    m_ofAgent = body.state;
    m_detail = body.detail;
}

bool RunLifecycle::setLink(LinkState link, const QString &sentence) {
    if (link == m_link && sentence == m_linkSentence)
        return false;
    m_link = link;
    m_linkSentence = sentence;
    return true;
}

std::optional<RunState> RunLifecycle::state() const {
    if (m_result)
        return m_result->state;
    if (m_ofAgent && isFinal(*m_ofAgent))
        return m_ofAgent;
    return m_ofRank0 && !isFinal(*m_ofRank0) ? m_ofRank0 : m_ofAgent;
}

bool RunLifecycle::over() const {
    return m_link == LinkState::AgentDied || (state() && isFinal(*state()));
}

bool RunLifecycle::agentDied() const {
    return m_link == LinkState::AgentDied && !(state() && isFinal(*state()));
}

bool RunLifecycle::unknown() const {
    return m_link == LinkState::Unknown && !(state() && isFinal(*state()));
}

std::string RunLifecycle::reason() const {
    return m_result ? m_result->reason : m_detail;
}

QString RunLifecycle::deathSentence() const {
    return m_linkSentence.isEmpty() ? QStringLiteral("failed: agent died") : m_linkSentence;
}

QString RunLifecycle::sentence() const {
    if (agentDied())
        return deathSentence();
    const std::optional<RunState> now = state();
    const std::string_view word = now ? wordOf(*now) : "starting";
    QString text = QString::fromUtf8(word.data(), qsizetype(word.size()));
    if (const std::string why = reason(); now && isFinal(*now) && *now != RunState::Done && !why.empty())
        text += QStringLiteral(": ") + QString::fromStdString(why);
    if (unknown())
        text += QStringLiteral(", ") + m_linkSentence;
    return text;
}

} // namespace lockstep::core
