#pragma once
#include <QProcess>

#include <optional>
#include <vector>

#include "app/ui/widgets/card.h"
#include "ipc/placement.h"
#include "models/cell_table_model.h"

class QComboBox;
class QLabel;
class QPushButton;
class QTableView;

namespace lockstep::ui {
class Theme;

/// What DDP and a server would take by the lab, and how it came out. Making one is lockstepctl's; it ends with this window.
class LabForecast : public Card {
    Q_OBJECT
public:
    explicit LabForecast(const Theme &theme, QWidget *parent = nullptr);
    ~LabForecast() override;
    /// Shows the newest forecast for these places, empty: this machine; the next one is made for them.
    void show(std::vector<NodePlace> places);
    [[nodiscard]] QPushButton *button() const { return m_forecast; }
    [[nodiscard]] QTableView *table() const { return m_table; }
    [[nodiscard]] QString sentence() const;

Q_SIGNALS:
    void failed(const QString &sentence);

private:
    void press();
    void over();
    void read();

    std::vector<NodePlace> m_places;
    QComboBox *m_recipe;
    QPushButton *m_forecast;
    QLabel *m_words;
    QTableView *m_table;
    core::CellTableModel m_model;
    QProcess m_making;
    bool m_cancelled = false;
};

} // namespace lockstep::ui
