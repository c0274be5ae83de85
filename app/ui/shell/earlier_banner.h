// SPDX-License-Identifier: MIT
#pragma once
#include <QFrame>

class QAction;

namespace lockstep::ui {
class ElidedLabel;
class Workspace;

/// Over a page that shows what is open, while another experiment runs: which one this is, and the way to what runs.
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
