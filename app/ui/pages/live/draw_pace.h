// SPDX-License-Identifier: MIT
#pragma once
#include <QElapsedTimer>
#include <QTimer>

namespace lockstep::ui {

/// When to draw: at most twenty times a second, and never more than a tenth of the time. No timer runs
/// without requests; the first request after a pause is served at once.
class DrawPace : public QObject {
    Q_OBJECT
public:
    explicit DrawPace(QObject *parent = nullptr);
    void ask();

Q_SIGNALS:
    void due(); ///< draw now

private:
    void draw();

    QElapsedTimer m_clock;
    QTimer m_timer;
    qint64 m_notBeforeMs = 0;
};

} // namespace lockstep::ui
