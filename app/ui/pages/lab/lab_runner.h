// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>
#include <QTimer>

#include <optional>
#include <string>

#include "lab/lab_job.h"

namespace lockstep::ui {

/// Starts and stops labs. They belong to lockstepctl and continue when the window closes. Polls their files twice a second
/// while one runs or the page is shown.
class LabRunner : public QObject {
    Q_OBJECT
public:
    explicit LabRunner(QObject *parent = nullptr);
    void start(const core::LabRequest &request);
    void stop();
    void poll();
    void setShown(bool shown); ///< polls now and, while shown, again and again
    [[nodiscard]] const std::optional<core::LabProgress> &running() const { return m_running; }
    [[nodiscard]] bool busy() const { return m_running || m_asked; } ///< one runs, or was asked for

Q_SIGNALS:
    void changed();                       ///< running(), busy()
    void ended();                         ///< a new measurement may be there
    void failed(const QString &sentence); ///< also of a lab that ended without a measurement

private:
    QTimer m_poll;
    std::optional<core::LabProgress> m_running;
    std::string m_before; ///< id of the newest lab when this one began
    int m_polls = 0;      ///< since the request
    bool m_asked = false, m_shown = false;
};

} // namespace lockstep::ui
