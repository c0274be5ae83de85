#pragma once
#include <QSortFilterProxyModel>
#include <QTimer>
#include <QWidget>

class QLabel;
class QLineEdit;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace lockstep::ui {
class Theme;
class Workspace;

/// Runs whose every filter word is found in some column.
class RunFilter : public QSortFilterProxyModel {
    Q_OBJECT
public:
    explicit RunFilter(QObject *parent = nullptr);
    void setText(const QString &text);

protected:
    [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex &parent) const override;
    [[nodiscard]] bool lessThan(const QModelIndex &a, const QModelIndex &b) const override;

private:
    QStringList m_words;
};

/// Runs: the history, filtered by a line, reopened by Enter or double click.
class RunsPage : public QWidget {
    Q_OBJECT
public:
    RunsPage(Theme &theme, Workspace &workspace, QWidget *parent = nullptr);
    [[nodiscard]] QTableView *table() const { return m_table; }
    [[nodiscard]] QLineEdit *filterLine() const { return m_line; }
    [[nodiscard]] RunFilter *filter() { return &m_filter; }
    /// Looks at the disk again.
    void refresh();

Q_SIGNALS:
    void experimentWanted(const QString &id); ///< experiment, or run when it has none
    void runWanted(const QString &runId);     ///< the run alone
    void planWanted();

protected:
    void showEvent(QShowEvent *event) override;

private:
    void openCurrent(bool alone);
    void updateState();
    void restyle();

    Theme &m_theme;
    Workspace &m_workspace;
    RunFilter m_filter;
    QStackedWidget *m_stack;
    QLineEdit *m_line;
    QTableView *m_table;
    QLabel *m_count;
    QPushButton *m_open, *m_alone;
    QTimer m_timer;
    bool m_fitted = false;
};

} // namespace lockstep::ui
