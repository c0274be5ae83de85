// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include <QString>

#include "ipc/frames.h"
#include "ipc/run_folder.h"
#include "store/run_data.h"

namespace lockstep::core {

/// Where a run is between launch and exit, and the state of the follower's link.
class RunLifecycle {
public:
    /// A state that agent 0 or a rank reported.
    void take(const Frame &frame, const StateFrame &body);
    void setResult(const RunResult &result) { m_result = result; }
    /// False: nothing changed.
    bool setLink(LinkState link, const QString &sentence);

    /// The run's own state; absent until it is reported.
    [[nodiscard]] std::optional<RunState> state() const;
    [[nodiscard]] bool over() const; ///< final state, or the agent died
    [[nodiscard]] bool agentDied() const;
    /// Of a copy from another machine without a final state: whether it still runs there is unknown, as linkSentence() says.
    [[nodiscard]] bool unknown() const;
    [[nodiscard]] std::string reason() const; ///< why it did not succeed, from agent 0 or the result
    [[nodiscard]] QString sentence() const;   ///< "training", "done", "failed: rank 1 …", "failed: agent died"
    /// Once link() is AgentDied: "failed: agent died", or what its queue found of it, "failed: its Slurm job …".
    [[nodiscard]] QString deathSentence() const;
    [[nodiscard]] const std::optional<RunResult> &result() const { return m_result; }
    [[nodiscard]] LinkState link() const { return m_link; }
    [[nodiscard]] QString linkSentence() const { return m_linkSentence; }

private:
    std::optional<RunState> m_ofAgent, m_ofRank0;
    std::string m_detail;
    std::optional<RunResult> m_result;
    LinkState m_link = LinkState::Idle;
    QString m_linkSentence;
};

} // namespace lockstep::core
