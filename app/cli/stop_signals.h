// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

#include <QObject>

namespace lockstep::cli {

/// What the end of a program's terminal (SIGHUP) does.
enum class TerminalEnd {
    Stops, ///< the same as a first SIGTERM; a further one is ignored, as each one is where the program was started so (nohup)
    Ends, ///< ends the process at once: what it has started goes on
};

/// Delivers the first SIGINT or SIGTERM as a call on the event loop. A second one ends the process at once (130).
class StopSignals : public QObject {
    Q_OBJECT
public:
    explicit StopSignals(std::function<void()> onStop, TerminalEnd terminalEnd = TerminalEnd::Stops);
    ~StopSignals() override;

private:
    void arrived();
    std::function<void()> m_onStop;
    bool m_stopping = false;
};

} // namespace lockstep::cli
