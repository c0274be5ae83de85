// SPDX-License-Identifier: MIT
#pragma once
#include <QFrame>

class QAction;

namespace lockstep::ui {
class ElidedLabel;
class Workspace;

/// Shown above a page while another experiment runs than the open one: names the open one and has a button for the running one.
class EarlierBanner : public QFrame {
    Q_OBJECT
public:
    /// `watch` shows what runs.
    EarlierBanner(Workspace &workspace, QAction *watch, QWidget *parent = nullptr);
    /// Whether the page below shows what is open.
    void setPageShowsOpen(bool shows);
    [[nodiscard]] QString text() const;

private:
    void refresh();

    Workspace &m_workspace;
    ElidedLabel *m_words;
    bool m_pageShowsOpen = false;
};

} // namespace lockstep::ui
