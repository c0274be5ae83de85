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

/// Pending requests to a run's agent over a follower's link. The agent does not answer control lines. A request is confirmed by
/// the log, which names the asker, or by any frame that arrives some seconds later.
class LinkRequests {
public:
    /// `agent`: its name in errors. `by`: as in the control line.
    [[nodiscard]] std::unique_ptr<Request> add(const std::string &agent, const std::string &by);
    void onFrame(const Frame &frame); ///< call it with every frame from the link
    /// All fail, since nobody knows whether the agent received them. `reason`: "the link was lost".
    void fail(const std::string &agent, const std::string &reason);
    void runEnded(); ///< all succeed

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
