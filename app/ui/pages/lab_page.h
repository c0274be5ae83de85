#pragma once
#include <QProcess>
#include <QTimer>
#include <QWidget>

#include <optional>
#include <vector>

#include "analysis/cost_model.h"
#include "models/cell_table_model.h"
#include "store/forecast_record.h"
#include "store/lab_record.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace lockstep::ui {
class Card;
class ChartSource;
class EmptyState;
class LineChart;
class ProgressBar;
class Theme;

/// Lab: what communication costs on this machine, measured and predicted; ring against server; the fit; the newest forecast
/// and how it came out. Measuring is lockstepctl's and goes on when the window closes; the page looks at its files, twice a
/// second while something runs.
class LabPage : public QWidget {
    Q_OBJECT
public:
    explicit LabPage(Theme &theme, QWidget *parent = nullptr);
    ~LabPage() override;

    [[nodiscard]] bool isEmpty() const;
    [[nodiscard]] QPushButton *measureButton() const { return m_measure; }
    [[nodiscard]] QPushButton *stopButton() const { return m_stop; }
    [[nodiscard]] QPushButton *forecastButton() const { return m_forecast; }
    [[nodiscard]] EmptyState *emptyState() const { return m_empty; }
    [[nodiscard]] LineChart *times() const { return m_times; }
    [[nodiscard]] LineChart *bandwidths() const { return m_bandwidths; }
    [[nodiscard]] QTableView *fits() const { return m_fits; }
    [[nodiscard]] QTableView *ring() const { return m_ring; }
    [[nodiscard]] QTableView *forecasts() const { return m_forecasts; }
    [[nodiscard]] QString progressText() const;
    [[nodiscard]] std::vector<ChartSource *> charts() const;
    /// Reads the newest lab and forecast anew.
    void refresh();

Q_SIGNALS:
    void failed(const QString &sentence);

protected:
    void showEvent(QShowEvent *event) override;
    void hideEvent(QHideEvent *event) override;

private:
    QWidget *buildBody();
    Card *buildHead(QWidget *parent);
    Card *buildForecast(QWidget *parent);
    void measure(bool quick);
    void look();
    void startForecast();
    void forecastOver();
    void showLab();
    void showForecast();
    void fitHeights();
    [[nodiscard]] int chosenRanks() const;

    Theme &m_theme;
    QStackedWidget *m_stack;
    EmptyState *m_empty;
    QLabel *m_emptyProgress;
    Card *m_head;
    QLabel *m_about, *m_progressText, *m_formulas, *m_forecastText;
    QPushButton *m_measure, *m_stop, *m_emptyStop, *m_forecast;
    QCheckBox *m_quick;
    QComboBox *m_ranks, *m_recipe;
    ProgressBar *m_progress, *m_emptyBar;
    LineChart *m_times, *m_bandwidths;
    QTableView *m_fits, *m_ring, *m_forecasts;
    core::CellTableModel m_fitModel, m_ringModel, m_forecastModel;
    std::optional<core::LabRecord> m_lab;
    core::CommunicationModel m_model; ///< of m_lab: choosing its pieces takes a while
    std::optional<core::ForecastRecord> m_shownForecast;
    QProcess m_forecasting;
    QTimer m_look;
    bool m_wasRunning = false, m_asked = false;
};

} // namespace lockstep::ui
