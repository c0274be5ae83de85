#pragma once
#include <QFrame>
#include <QSortFilterProxyModel>

class QComboBox;
class QLabel;
class QLineEdit;
class QTableView;
class QToolButton;

namespace lockstep::ui {
class Theme;
class Workspace;

/// Console lines by rank, least level and text.
class ConsoleFilter : public QSortFilterProxyModel {
    Q_OBJECT
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    void setSource(const QString &source); ///< "rank 1", "agent"; empty: all
    void setLeastLevel(int level);         ///< 0 debug … 3 error
    void setText(const QString &text);

protected:
    [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex &parent) const override;

private:
    QString m_source, m_text;
    int m_level = 0;
};

/// The drawer below: every rank's console and the agent's, and the alerts. Folded to its head until wanted.
class ConsoleDrawer : public QFrame {
    Q_OBJECT
public:
    ConsoleDrawer(Theme &theme, Workspace &workspace, QWidget *parent = nullptr);
    void setUnfolded(bool unfolded);
    [[nodiscard]] bool isUnfolded() const { return m_unfolded; }
    [[nodiscard]] ConsoleFilter *filter() { return &m_filter; }

private:
    QWidget *buildTools();
    void refreshHead();
    void refreshSources();
    void showAlerts(bool alerts);

    Theme &m_theme;
    Workspace &m_workspace;
    ConsoleFilter m_filter;
    QToolButton *m_head, *m_alertsHead;
    QWidget *m_tools, *m_body;
    QComboBox *m_source, *m_level;
    QLineEdit *m_text;
    QTableView *m_table, *m_alerts;
    bool m_unfolded = false, m_atEnd = true;
};

} // namespace lockstep::ui
