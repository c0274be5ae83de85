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

/// The table of runs, or a word that the filter accepts none. What is chosen stays chosen while the rows are made anew.
class RunsList : public QStackedWidget {
    Q_OBJECT
public:
    RunsList(const Theme &theme, core::RunListModel &list, QWidget *parent = nullptr);
    [[nodiscard]] QTableView *table() const { return m_table; }
    [[nodiscard]] RunColumns *columns() const { return m_columns; }
    /// Chosen rows' runs, a group's all, in the table's order.
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
    std::vector<std::string> m_kept; ///< chosen runs while the rows are made anew
    std::string m_current;
    bool m_fitted = false;
};

} // namespace lockstep::ui
