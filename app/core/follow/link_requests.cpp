// SPDX-License-Identifier: MIT
#include "follow/link_requests.h"

#include <utility>

#include "follow/agent_control.h"

namespace lockstep::core {
namespace {

constexpr std::chrono::seconds longestUnderWay{3};

/// "stop asked by lockstep on box", "a trace of 20 steps, asked by lockstep on box: 2 ranks record it"
bool namesWhoAsked(const Frame &frame, const std::string &by) {
    const auto *log = std::get_if<LogFrame>(&frame.body);
    return log && log->source == "agent" && log->message.find("asked") != std::string::npos &&
           log->message.find("by " + by) != std::string::npos;
}

} // namespace

std::unique_ptr<Request> LinkRequests::add(const std::string &agent, const std::string &by) {
    auto request = std::make_unique<AwaitedRequest>(answerLimit, noAnswerFrom(agent));
    m_open.push_back({request.get(), by, QDeadlineTimer(longestUnderWay)});
    return request;
}

void LinkRequests::onFrame(const Frame &frame) {
    std::erase_if(m_open, [&](const Open &open) {
        if (open.request && (open.underWay.hasExpired() || namesWhoAsked(frame, open.by)))
            open.request->answer({});
        return !open.request || open.request->over();
    });
}

void LinkRequests::fail(const std::string &agent, const std::string &reason) {
    for (const Open &open : std::exchange(m_open, {}))
        if (open.request)
            open.request->answer(lockstep::fail(Error::failed(reason + "; whether " + agent + " was asked is not known",
                                                              "try again when the link is back")));
}

void LinkRequests::runEnded() {
    for (const Open &open : std::exchange(m_open, {}))
        if (open.request)
            open.request->answer({});
}

} // namespace lockstep::core
