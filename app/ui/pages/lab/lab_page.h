// SPDX-License-Identifier: MIT
#pragma once
#include <QTimer>
#include <QWidget>

#include <optional>
#include <vector>

#include "lab/cost_model.h"
#include "lab/lab_job.h"
#include "lab/lab_record.h"
#include "models/cell_table_model.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;
class QTableView;

namespace lockstep::ui {
class Card;
class ChartSource;
class EmptyState;
class LabForecast;
class LabPlaces;
class LineChart;
class ProgressBar;
class Theme;

/// Lab: what communication costs between the devices chosen, of this machine or of nodes, measured and predicted; ring against
/// server; the fit; the newest forecast for them and how it came out. Measuring is lockstepctl's and goes on when the window closes; the page looks at its files, twice a
/// second while something runs.
class LabPage : public QWidget {
    Q_OBJECT
public:
    explicit LabPage(Theme &theme, QWidget *parent = nullptr);

    [[nodiscard]] bool isEmpty() const;
    [[nodiscard]] QPushButton *measureButton() const { return m_measure; }
    [[nodiscard]] QPushButton *stopButton() const { return m_stop; }
    [[nodiscard]] QPushButton *forecastButton() const;
    [[nodiscard]] EmptyState *emptyState() const { return m_empty; }
    [[nodiscard]] LineChart *times() const { return m_times; }
    [[nodiscard]] LineChart *bandwidths() const { return m_bandwidths; }
    [[nodiscard]] QTableView *fits() const { return m_fits; }
    [[nodiscard]] QTableView *ring() const { return m_ring; }
    [[nodiscard]] QTableView *forecasts() const;
    [[nodiscard]] LabForecast *forecast() const { return m_forecast; }
    [[nodiscard]] LabPlaces *where() const { return m_places; }
    [[nodiscard]] QString progressText() const;
    [[nodiscard]] std::vector<ChartSource *> charts() const;
    /// Reads the newest lab and forecast anew.
    void refresh();

Q_SIGNALS:
    void nodesWanted(); ///< a person wants to add nodes
    void failed(const QString &sentence);

protected:
    void showEvent(QShowEvent *event) override;
    void hideEvent(QHideEvent *event) override;

private:
    QWidget *buildFirst(QWidget *parent);
    QWidget *buildBody(QWidget *parent);
    Card *buildHead(QWidget *parent);
    void measure(bool quick);
    void start();
    void look();
    void restyle();
    void showLab();
    void fitHeights();
    [[nodiscard]] QString runningWords(const core::LabProgress &running) const;
    [[nodiscard]] int chosenRanks() const;

    Theme &m_theme;
    LabPlaces *m_places;
    QWidget *m_first, *m_body; ///< of which one shows
    EmptyState *m_empty;
    QLabel *m_emptyProgress;
    Card *m_head;
    QLabel *m_about, *m_progressText, *m_formulas;
    QPushButton *m_measure, *m_stop, *m_emptyStop;
    QCheckBox *m_quick;
    QComboBox *m_ranks;
    ProgressBar *m_progress, *m_emptyBar;
    LineChart *m_times, *m_bandwidths;
    QTableView *m_fits, *m_ring;
    LabForecast *m_forecast;
    core::CellTableModel m_fitModel, m_ringModel;
    std::optional<core::LabRecord> m_lab; ///< the one shown
    std::string m_newest;                 ///< id of the newest lab of all
    core::CommunicationModel m_model;     ///< of m_lab: choosing its pieces takes a while
    QTimer m_look;
    bool m_wasRunning = false, m_asked = false, m_busy = false, m_quickly = true;
};

} // namespace lockstep::ui
