// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include <array>
#include <vector>

class QComboBox;
class QLabel;
class QPushButton;
class QTableView;

namespace lockstep::ui {
class AccuracyCard;
class BarChart;
class Card;
class ChartSource;
class OpenResults;
class PageStack;
class RunNodesCard;
class SuggestionButtons;
class Theme;
class TwoColumns;
class UseModel;
class VerdictAdvice;
class VerdictAnatomy;
class VerdictControls;
class VerdictDifference;
class VerdictHead;
class VerdictStages;
class VerdictTarget;
class VerdictTraffic;
class Waterfall;
class Workspace;

/// Verdict: one line per run, worth it or not; speed-ups with intervals; where the difference comes from, and missing
/// controls; reservations; whether the comparison is fair and which run would settle it; what bounds each run and what to try;
/// DP's step beside DDP's; the result table with the published rows; accuracy by class; utilisation by epoch; Export.
class VerdictPage : public QWidget {
    Q_OBJECT
public:
    VerdictPage(Theme &theme, Workspace &workspace, QWidget *parent = nullptr);

    [[nodiscard]] QString sentence() const; ///< the head's lines
    [[nodiscard]] QTableView *table() const { return m_table; }
    [[nodiscard]] BarChart *speedUps() const { return m_speedUps; }
    [[nodiscard]] QPushButton *exportButton() const;
    [[nodiscard]] const QList<QPushButton *> &settleButtons() const; ///< of lines that failed or can't be told yet
    [[nodiscard]] VerdictHead *head() const { return m_head; }
    [[nodiscard]] Waterfall *waterfall() const;
    [[nodiscard]] QComboBox *pairBox() const; ///< whose waterfall is drawn
    [[nodiscard]] VerdictControls *controls() const;
    [[nodiscard]] QLabel *fairWord() const { return m_fair; } ///< shown where nothing unfair was found
    [[nodiscard]] VerdictAdvice *fairness() const { return m_fairness; }
    [[nodiscard]] VerdictAdvice *bottlenecks() const { return m_bottlenecks; }
    [[nodiscard]] VerdictAnatomy *anatomy() const { return m_anatomy; }
    [[nodiscard]] VerdictStages *stages() const { return m_stages; }
    [[nodiscard]] VerdictTraffic *traffic() const { return m_traffic; }
    [[nodiscard]] AccuracyCard *accuracy() const { return m_accuracy; }
    [[nodiscard]] VerdictTarget *target() const { return m_target; }
    [[nodiscard]] std::vector<ChartSource *> charts() const;

Q_SIGNALS:
    void planWanted();
    void scriptWanted();
    void consoleWanted(const QString &runId); ///< of a repeat that failed

protected:
    void showEvent(QShowEvent *event) override;

private:
    QWidget *buildBody();
    QLayout *buildContrast(QWidget *body);
    void buildAdvice();
    Card *buildResults(QWidget *body);
    void buildFigures();
    void refresh();
    void refreshAdvice();
    [[nodiscard]] std::array<SuggestionButtons *, 4>
    suggestions() const; ///< of lines, waterfall, fairness and bottlenecks
    void fitHeights();

    Theme &m_theme;
    Workspace &m_workspace;
    OpenResults &m_results;
    PageStack *m_stack;
    VerdictHead *m_head;
    BarChart *m_speedUps;
    AccuracyCard *m_accuracy;
    VerdictDifference *m_difference;
    VerdictAdvice *m_fairness, *m_bottlenecks;
    Card *m_speedCard, *m_reservationsCard, *m_fairnessCard, *m_bottlenecksCard, *m_notesCard;
    QLabel *m_fair, *m_reservations, *m_notes;
    TwoColumns *m_advice, *m_figures;
    VerdictTarget *m_target;
    VerdictAnatomy *m_anatomy;
    VerdictStages *m_stages;
    VerdictTraffic *m_traffic;
    RunNodesCard *m_nodes;
    QTableView *m_table, *m_classes, *m_use;
    UseModel *m_useModel;
};

} // namespace lockstep::ui
