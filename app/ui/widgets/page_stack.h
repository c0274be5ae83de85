// SPDX-License-Identifier: MIT
#pragma once
#include <QStackedWidget>

namespace lockstep::ui {
class EmptyState;

/// A page's content: its empty state until there is something to show, then its body. It lays itself out in the page,
/// edge to edge.
class PageStack : public QStackedWidget {
public:
    PageStack(QWidget &page, EmptyState *empty);
    void setBody(QWidget *body);
    void showBody(bool body) { setCurrentIndex(body ? 1 : 0); }
    [[nodiscard]] bool showsBody() const { return currentIndex() == 1; }
};

} // namespace lockstep::ui
