// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <QObject>
#include <QTimer>

#include "ipc/error.h"

namespace lockstep::core {

/// A pending request to another program or machine. finished() is emitted exactly once, always from the event loop.
/// Never blocks. Deleting a request cancels it: its answer is dropped and its process, if any, is ended.
class Request : public QObject {
    Q_OBJECT
public:
    [[nodiscard]] bool over() const { return m_result.has_value(); }       ///< finished() was emitted or is about to be
    [[nodiscard]] const Result<void> &result() const { return *m_result; } ///< valid once over()

Q_SIGNALS:
    void finished();

protected:
    Request() = default;
    void finish(const Result<void> &result); ///< only the first result counts

private:
    std::optional<Result<void>> m_result;
};

/// Time limit for another machine's answer.
constexpr std::chrono::seconds answerLimit{25};

/// The immediate outcome of making a request: refused (the error), done (null), or pending.
using Asked = Result<std::unique_ptr<Request>>;

/// Waits for the answer in a nested event loop: for the command line, never for a window.
[[nodiscard]] Result<void> waitFor(Asked asked);

/// A request whose answer the caller supplies. Without one within `limit` it fails with `late`.
class AwaitedRequest final : public Request {
    Q_OBJECT
public:
    AwaitedRequest(std::chrono::milliseconds limit, Error late);
    void answer(const Result<void> &result) { finish(result); }

private:
    QTimer m_limit;
};

/// Several requests as one: over when all are. `conclude` maps the first error, or success, to its result.
class RequestGroup final : public Request {
    Q_OBJECT
public:
    using Conclude = std::function<Result<void>(const Result<void> &)>;
    explicit RequestGroup(std::vector<std::unique_ptr<Request>> requests, Conclude conclude = {});

private:
    std::vector<std::unique_ptr<Request>> m_requests;
    Conclude m_conclude;
    Result<void> m_first; ///< error
    std::size_t m_open;
};

} // namespace lockstep::core
