// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <stop_token>
#include <vector>

#include <QObject>

#include "lab/forecast_grades.h"

class QThread;

namespace lockstep::core {

/// What is known of forecasts, and the runs that they are graded by.
struct ReadForecasts {
    std::vector<ForecastRecord> made; ///< the newest of each recipe, for the places that were asked for
    std::vector<GradingRun> runs;
    ForecastPlace place; ///< that was asked for, and this machine
    ForecastTally tally; ///< of all forecasts for it
};

/// Reads them for a window, on a thread of its own ("lockstep-lab"): hundreds of runs are opened. `read` follows on this object's
/// thread; what is asked while it reads is read once after that.
class ForecastReader : public QObject {
    Q_OBJECT
public:
    explicit ForecastReader(QObject *parent = nullptr);
    ~ForecastReader() override; ///< ends the thread after the file that it reads
    void ask(const std::vector<NodePlace> &places);
    [[nodiscard]] bool reading() const { return m_thread != nullptr; }

Q_SIGNALS:
    void read(const lockstep::core::ReadForecasts &found);

private:
    void over(const ReadForecasts &found);

    QThread *m_thread = nullptr; ///< while it reads
    std::stop_source m_stop;
    std::optional<std::vector<NodePlace>> m_next;
};

} // namespace lockstep::core
