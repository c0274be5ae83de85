// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include <QDeadlineTimer>
#include <QObject>
#include <QTimer>

namespace lockstep::core {

/// A launch that waits for a node that can't be reached: it is tried again after 1 s, 2 s, 4 s … 30 s, for 15 minutes.
class ReachWait : public QObject {
    Q_OBJECT
public:
    explicit ReachWait(QObject *parent = nullptr);

    bool next();   ///< again() follows, later; false: it has been tried long enough
    bool cancel(); ///< again() does not follow; false: it would not have
    [[nodiscard]] bool first() const { return !m_until; } ///< nothing was waited for so far
    [[nodiscard]] QString until() const;                  ///< hh:mm, this machine's time; after next()

Q_SIGNALS:
    void again();

private:
    QTimer m_timer;
    std::optional<QDeadlineTimer> m_until;
    int m_nextMs;
};

} // namespace lockstep::core
