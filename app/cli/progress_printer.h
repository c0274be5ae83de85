// SPDX-License-Identifier: MIT
#pragma once
#include <cstdio>
#include <functional>
#include <map>
#include <optional>

#include <QObject>
#include <QString>
#include <QTimer>

#include "store/run_store.h"

namespace lockstep::cli {

/// Prints the progress of runs: a live line on a terminal, else one line per epoch.
class ProgressPrinter : public QObject {
    Q_OBJECT
public:
    /// Writes to stderr if `toStderr` (stdout is reserved for JSON).
    explicit ProgressPrinter(bool toStderr, QObject *parent = nullptr);

    /// `place`: "run 3 of 5"; `name`: "DDP on 2 devices #1".
    void begin(core::RunStore *store, const QString &place, const QString &name);
    void end(core::RunStore *store);
    /// Remaining seconds of the whole experiment, for the live line.
    void setWholeLeft(std::function<std::optional<double>()> leftS) { m_wholeLeftS = std::move(leftS); }
    /// Prints a line above the live line.
    void line(const QString &text);

private:
    struct Printed {
        QString place, name;
        int epoch = 0;            ///< the last one printed
        std::uint64_t alerts = 0; ///< number of the last one printed
        QString lostLink;         ///< what was said of it, until it is back
        bool nodeLost = false;
    };
    void changed(core::RunStore *store, core::RunStore::Changes what);
    /// Prints new alerts, except the one that repeats the run's result.
    void printAlerts(const core::RunStore &store, Printed &printed, const std::string &except);
    void printEpochs(const core::RunStore &store, Printed &printed);
    void refreshLive();
    void clearLive();
    [[nodiscard]] QString liveText(const core::RunStore &store, const Printed &printed) const;

    std::FILE *m_out;
    bool m_terminal, m_liveShown = false;
    std::map<core::RunStore *, Printed> m_printed;
    std::function<std::optional<double>()> m_wholeLeftS;
    QTimer m_timer;
};

} // namespace lockstep::cli
