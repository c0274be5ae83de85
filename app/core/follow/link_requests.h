// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <QDeadlineTimer>
#include <QPointer>

#include "base/request.h"
#include "ipc/frames.h"

namespace lockstep::core {

/// What was asked of a run's agent over a follower's link and is not answered yet. The agent has no answer of its own for a
/// control line: that it heard is known from its log, which names who asked, or from any frame that comes some seconds later.
class LinkRequests {
public:
    /// `agent`: whom errors name. `by`: as in the control line.
    [[nodiscard]] std::unique_ptr<Request> add(const std::string &agent, const std::string &by);
    void heard(const Frame &frame); ///< every frame that comes over the link
    /// All fail: whether the agent heard is not known. `reason`: "the link was lost".
    void fail(const std::string &agent, const std::string &reason);
    void runEnded(); ///< nothing is left to ask for

private:
    struct Open {
        QPointer<AwaitedRequest> request;
        std::string by;
        QDeadlineTimer
            underWay; ///< frames may have been under way when the request was made; none takes longer than this
    };
    std::vector<Open> m_open;
};

} // namespace lockstep::core
