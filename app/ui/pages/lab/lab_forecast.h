// SPDX-License-Identifier: MIT
#pragma once
#include <QProcess>

#include <optional>
#include <vector>

#include "app/ui/widgets/card.h"
#include "ipc/placement.h"
#include "lab/forecast_reader.h"
#include "models/cell_table_model.h"

class QComboBox;
class QLabel;
class QPushButton;
class QTableView;

namespace lockstep::ui {
class Theme;

/// The forecast of what the chosen recipe's ways to train take, and its comparison with measured runs. lockstepctl makes it and ends with this window.
class LabForecast : public Card {
    Q_OBJECT
public:
    explicit LabForecast(const Theme &theme, QWidget *parent = nullptr);
    ~LabForecast() override;
    /// Shows the newest forecast of the chosen recipe for these places (empty: this machine); the next one is made for them.
    /// Until a person chooses, the recipe is that of the newest forecast there.
    void show(std::vector<NodePlace> places);
    [[nodiscard]] QPushButton *button() const { return m_forecast; }
    [[nodiscard]] QComboBox *recipe() const { return m_recipe; }
    [[nodiscard]] QTableView *table() const { return m_table; }
    [[nodiscard]] QString sentence() const;
    [[nodiscard]] bool reading() const { return m_reader.reading(); } ///< the shown forecast is outdated

Q_SIGNALS:
    void failed(const QString &sentence);

private:
    void press();
    void over();
    void read();
    void showForecast();

    std::vector<NodePlace> m_places;
    core::ForecastReader m_reader;
    core::ReadForecasts m_read;
    QComboBox *m_recipe;
    QPushButton *m_forecast;
    QLabel *m_words;
    QTableView *m_table;
    core::CellTableModel m_model;
    QProcess m_making;
    bool m_cancelled = false, m_chosen = false;
};

} // namespace lockstep::ui
