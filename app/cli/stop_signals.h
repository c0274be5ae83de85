// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

#include <QObject>

namespace lockstep::cli {

/// Delivers SIGINT and SIGTERM as calls on the event loop. A second one ends the process at once (130).
class StopSignals : public QObject {
    Q_OBJECT
public:
    explicit StopSignals(std::function<void()> onStop, QObject *parent = nullptr);
    ~StopSignals() override;

private:
    void arrived();
    std::function<void()> m_onStop;
    int m_count = 0;
};

} // namespace lockstep::cli
