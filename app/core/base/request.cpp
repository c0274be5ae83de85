// SPDX-License-Identifier: MIT
#include "base/request.h"

#include <utility>

#include <QEventLoop>

namespace lockstep::core {

void Request::finish(const Result<void> &result) {
    if (m_result)
        return;
    m_result = result;
    QTimer::singleShot(0, this, &Request::finished);
}

Result<void> waitFor(Asked asked) {
    if (!asked)
        return fail(asked.error());
    if (!*asked)
        return {};
    QEventLoop loop;
    QObject::connect(asked->get(), &Request::finished, &loop, &QEventLoop::quit);
    loop.exec();
    return (*asked)->result();
}

AwaitedRequest::AwaitedRequest(std::chrono::milliseconds limit, Error late) {
    m_limit.setSingleShot(true);
    connect(&m_limit, &QTimer::timeout, this, [this, late = std::move(late)] { finish(fail(late)); });
    m_limit.start(limit);
}

RequestGroup::RequestGroup(std::vector<std::unique_ptr<Request>> requests, Conclude conclude)
    : m_requests(std::move(requests)), m_conclude(std::move(conclude)), m_open(m_requests.size()) {
    for (const std::unique_ptr<Request> &request : m_requests)
        connect(request.get(), &Request::finished, this, [this, one = request.get()] {
            if (m_first)
                m_first = one->result();
            if (--m_open == 0)
                finish(m_conclude ? m_conclude(m_first) : m_first);
        });
}

} // namespace lockstep::core

#include "moc_request.cpp"
