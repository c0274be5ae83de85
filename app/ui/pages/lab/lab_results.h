// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include "lab/cost_model.h"
#include "lab/lab_record.h"
#include "models/cell_table_model.h"

class QTableView;
class QVBoxLayout;

namespace lockstep::ui {
class Card;
class LabForecast;
class LineChart;
class Theme;

/// A lab's measurements and predictions: ring against server, bus bandwidths, the fit; and the forecast, whose places the
/// page sets.
class LabResults : public QWidget {
    Q_OBJECT
public:
    explicit LabResults(const Theme &theme, QWidget *parent = nullptr);
    void setLab(core::LabRecord lab);
    void show(int ranks); ///< the lab, as so many ranks measured it
    [[nodiscard]] LineChart *times() const { return m_times; }
    [[nodiscard]] LineChart *bandwidths() const { return m_bandwidths; }
    [[nodiscard]] QTableView *fits() const { return m_fits; }
    [[nodiscard]] QTableView *ring() const { return m_ring; }
    [[nodiscard]] LabForecast *forecast() const { return m_forecast; }

private:
    void buildCharts(QVBoxLayout *layout);
    Card *buildRing();
    Card *buildFits();

    const Theme &m_theme;
    LineChart *m_times, *m_bandwidths;
    QTableView *m_fits, *m_ring;
    LabForecast *m_forecast;
    core::CellTableModel m_fitModel, m_ringModel;
    core::LabRecord m_lab;
    core::CommunicationModel m_model; ///< of m_lab: choosing its pieces takes a while
};

} // namespace lockstep::ui
