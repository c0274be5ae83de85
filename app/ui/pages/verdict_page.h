#pragma once
#include <QWidget>

#include <vector>

class QLabel;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace lockstep::core {
struct ResultTable;
}

namespace lockstep::ui {
class BarChart;
class Card;
class ChartSource;
class Theme;
class UseModel;
class Workspace;

/// Verdict: the sentence, large; speed-ups; the result table with the published rows; accuracy by class; utilisation by
/// epoch; what to keep in mind; Export.
class VerdictPage : public QWidget {
    Q_OBJECT
public:
    VerdictPage(Theme &theme, Workspace &workspace, QWidget *parent = nullptr);

    [[nodiscard]] QString sentence() const;
    [[nodiscard]] QTableView *table() const { return m_table; }
    [[nodiscard]] BarChart *speedUps() const { return m_speedUps; }
    [[nodiscard]] QPushButton *exportButton() const { return m_export; }
    [[nodiscard]] std::vector<ChartSource *> charts() const;

Q_SIGNALS:
    void planWanted();

protected:
    void showEvent(QShowEvent *event) override;

private:
    QWidget *buildHead();
    QWidget *buildBody();
    void refresh();
    void refreshBars(const core::ResultTable &table);
    void refreshUse(const core::ResultTable &table);
    void restyle();
    void fitHeights();

    Theme &m_theme;
    Workspace &m_workspace;
    QStackedWidget *m_stack;
    Card *m_head;
    QLabel *m_sentence, *m_repeats, *m_notes;
    QPushButton *m_export;
    BarChart *m_speedUps, *m_accuracy;
    QTableView *m_table, *m_classes, *m_use;
    QWidget *m_notesCard;
    UseModel *m_useModel;
};

} // namespace lockstep::ui
