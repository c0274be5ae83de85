// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include <vector>

#include "lab/lab_job.h"

class QPushButton;
class QTableView;

namespace lockstep::ui {
class ChartSource;
class EmptyState;
class LabFirst;
class LabForecast;
class LabHead;
class LabPlaces;
class LabResults;
class LabRunner;
class LineChart;
class Theme;

/// Lab: the cost of communication between the chosen devices, of this machine or of nodes, measured and predicted; ring against
/// server; the fit; the newest forecast for them, compared with measured runs.
class LabPage : public QWidget {
    Q_OBJECT
public:
    explicit LabPage(Theme &theme, QWidget *parent = nullptr);

    [[nodiscard]] bool isEmpty() const { return !m_measured; }
    [[nodiscard]] QPushButton *forecastButton() const;
    [[nodiscard]] EmptyState *emptyState() const;
    [[nodiscard]] LineChart *times() const;
    [[nodiscard]] LineChart *bandwidths() const;
    [[nodiscard]] QTableView *fits() const;
    [[nodiscard]] QTableView *ring() const;
    [[nodiscard]] QTableView *forecasts() const;
    [[nodiscard]] LabForecast *forecast() const;
    [[nodiscard]] LabPlaces *where() const { return m_places; }
    [[nodiscard]] QString progressText() const;
    [[nodiscard]] std::vector<ChartSource *> charts() const;
    /// Reads the newest lab and forecast again.
    void refresh();

Q_SIGNALS:
    void nodesWanted(); ///< a person wants to add nodes
    void failed(const QString &sentence);

protected:
    void showEvent(QShowEvent *event) override;
    void hideEvent(QHideEvent *event) override;

private:
    void build(Theme &theme);
    void connectParts(Theme &theme);
    void measure(bool quick);
    void start();
    void showProgress();
    void restyle();
    void showLab();
    [[nodiscard]] QString runningWords(const core::LabProgress &running) const;

    LabRunner *m_runner;
    LabPlaces *m_places;
    LabFirst *m_first; ///< shown instead of the results
    QWidget *m_body;
    LabHead *m_head;
    LabResults *m_results;
    bool m_measured = false; ///< between the chosen devices
    bool m_quickly = true;
};

} // namespace lockstep::ui
