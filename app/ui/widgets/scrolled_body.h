// SPDX-License-Identifier: MIT
#pragma once

class QTableView;
class QVBoxLayout;
class QWidget;

namespace lockstep::ui {

/// The body of a page that scrolls: cards under each other with the page's margins.
struct ScrolledBody {
    QWidget *area;       ///< what the page shows
    QWidget *body;       ///< parent of the cards
    QVBoxLayout *layout; ///< the body's
};
[[nodiscard]] ScrolledBody makeScrolledBody(QWidget *parent);
/// Makes a table on such a page as high as its rows: the page scrolls, not the table.
void fitHeight(QTableView *table);

} // namespace lockstep::ui
