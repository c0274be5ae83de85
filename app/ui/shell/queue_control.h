// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>

#include <cstdint>
#include <functional>
#include <vector>

#include "app/ui/shell/requests_under_way.h"
#include "queue/queue_request.h"

namespace lockstep::core {
class ExperimentFollower;
}

namespace lockstep::ui {
class ExperimentStarter;
class FollowedWork;
class StripState;

/// A person's requests for the experiment on the strip. All return at once: underWay() shows their progress,
/// `failed` reports errors. A pending request is not sent twice.
class QueueControl : public QObject {
    Q_OBJECT
public:
    QueueControl(FollowedWork &work, const StripState &strip, ExperimentStarter &starter, QObject *parent = nullptr);

    void stop();
    void skipCurrents(); ///< stops what runs now, and the queue goes on
    void bringBack();    ///< the runs that left the queue before they began
    /// Has its run record the next steps for Perfetto; its console says into which file.
    void trace(std::int64_t steps);
    void askForStacks(); ///< of every rank; they come into the console
    /// Sends a request to its queue. Queueing again without an owner also resumes the queue.
    void ask(core::QueueRequest request);
    void resumeQueue(); ///< of which the owner has ended
    void takeOver();    ///< takes control from its holder
    [[nodiscard]] RequestsUnderWay &underWay() { return m_underWay; }
    [[nodiscard]] bool asking(Deed deed) const; ///< it is under way for what the strip shows
    /// Whether this window may take control of what it follows; a picture of it must not.
    void setMayControl(bool may) { m_mayControl = may; }
    /// This window's name in requests: "lockstep on box".
    [[nodiscard]] static QString me();
    /// All in their order, as one request; `other` gets the error of one that is refused after the first was taken.
    [[nodiscard]] static core::Asked askAll(core::ExperimentFollower &follower,
                                            std::vector<core::QueueRequest> requests,
                                            const std::function<void(const Error &)> &other);

Q_SIGNALS:
    void failed(const QString &sentence);

private:
    void claim();
    void askInTurn(std::vector<core::QueueRequest> requests, const QString &sentence);

    FollowedWork &m_work;
    const StripState &m_strip;
    ExperimentStarter &m_starter;
    RequestsUnderWay m_underWay;
    bool m_mayControl = true;
};

} // namespace lockstep::ui
