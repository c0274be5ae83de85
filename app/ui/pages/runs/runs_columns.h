// SPDX-License-Identifier: MIT
#pragma once
#include <QMenu>
#include <QStringList>

class QSettings;
class QTableView;

namespace lockstep::core {
class RunListModel;
}

namespace lockstep::ui {

/// Which columns of the runs are shown, in which order and how wide: chosen in a menu that stays open, moved
/// and sized in the head, and stored by name, so that a new version's columns do not disturb them.
class RunColumns : public QObject {
    Q_OBJECT
public:
    /// `table` shows a RunListModel.
    explicit RunColumns(QTableView *table);
    [[nodiscard]] QMenu *menu() const { return m_menu; }
    /// Keys of what shows, in order.
    [[nodiscard]] QStringList shown() const;
    void show(const QString &key, bool on);
    void reset();
    /// Widths by content, unless a person set them. Names that are cut short get the free width.
    void fit();
    void save(QSettings &settings) const;
    void restore(const QSettings &settings);

Q_SIGNALS:
    void changed();

protected:
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    void giveNameTheRest();
    void buildMenu();
    void apply(const QStringList &keys);
    void addInvented(int first, int last);
    [[nodiscard]] const core::RunListModel &model() const;
    [[nodiscard]] QString keyAt(int column) const; ///< empty: of a group's count
    [[nodiscard]] int columnOf(const QString &key) const;
    QTableView *m_table;
    QMenu *m_menu;
    QStringList m_awaited;                     ///< chosen earlier, of metrics that no run has reported yet
    bool m_sized = false, m_nameSized = false; ///< by a person: any column, that of the names
    bool m_fitting = false;
};

} // namespace lockstep::ui
