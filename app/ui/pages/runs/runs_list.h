// SPDX-License-Identifier: MIT
#pragma once
#include <QStackedWidget>

#include <string>
#include <vector>

#include "store/run_index.h"

class QTableView;

namespace lockstep::core {
class RunListModel;
}

namespace lockstep::ui {
class RunColumns;
class Theme;

/// The table of runs, or a note that the filter accepts none. The selection survives new rows.
class RunsList : public QStackedWidget {
    Q_OBJECT
public:
    RunsList(const Theme &theme, core::RunListModel &list, QWidget *parent = nullptr);
    [[nodiscard]] QTableView *table() const { return m_table; }
    [[nodiscard]] RunColumns *columns() const { return m_columns; }
    /// The runs of the selected rows, for a group's head all its runs, in the table's order.
    [[nodiscard]] std::vector<const core::IndexedRun *> chosen() const;
    void choose(const std::vector<std::string> &runs); ///< the first of them becomes the current one
    void chooseAny();                                  ///< unless something is chosen
    void fitFirst();                                   ///< columns to the first rows there are
    void setGrouped(bool grouped);
    void showNoneMatches(bool none);

Q_SIGNALS:
    void chosenChanged();
    void openWanted();
    void clearWanted(); ///< of the filter

private:
    QWidget *buildNone();
    void rememberChoice();
    void restoreChoice();

    const Theme &m_theme;
    core::RunListModel &m_list;
    QTableView *m_table;
    RunColumns *m_columns;
    std::vector<std::string> m_kept; ///< selected runs while the rows are replaced
    std::string m_current;
    bool m_fitted = false;
};

} // namespace lockstep::ui
