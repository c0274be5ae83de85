// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/workspace.h"
#include "tests/app/ui_fixture.h"

namespace lockstep::uitest {

/// A matrix of 45 runs.
inline constexpr const char *gridRecipe =
    R"({"name": "grid", "title": "Loading workers or learning rate?", "base": {"batch_size": 64},
        "matrix": {"devices": [2], "method": ["baseline", "dp", "ddp"], "workers": [0, 2, 4], "lr": [0.01, 0.02, 0.05, 0.1, 0.2]}})";

/// The whole window over a workspace of its own, as a person has it before them. A test class derives from it.
class WindowFixture {
protected:
    explicit WindowFixture(ui::ThemeMode mode = ui::ThemeMode::Light) : m_theme(mode) {}

    ui::Theme m_theme;
    std::unique_ptr<ui::Workspace> m_workspace;
    std::unique_ptr<ui::MainWindow> m_window;

    [[nodiscard]] ui::LivePage *live() const { return m_window->livePage(); }
    /// Opens the window and makes it the active one; without a size it has its own.
    void openWindow(const QSize &size = {}) {
        m_workspace = std::make_unique<ui::Workspace>();
        m_window = std::make_unique<ui::MainWindow>(m_theme, *m_workspace, twoCores());
        if (size.isValid())
            m_window->resize(size);
        m_window->show();
        m_window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
    }
    void closeWindow() {
        m_window.reset();
        m_workspace.reset();
    }
    /// Opens an experiment or a run on Live and waits until all of it is read.
    void openOnLive(const std::string &id) {
        const auto opened = m_workspace->open(QString::fromStdString(id));
        QVERIFY2(opened, opened ? "" : opened.error().message().c_str());
        QTRY_VERIFY(m_workspace->complete() && m_workspace->settled());
        m_window->showPage(ui::Page::Live);
    }
    /// The same, and waits until the loss is drawn.
    void openAndDraw(const std::string &id) {
        openOnLive(id);
        QTRY_VERIFY(live()->lossChart()->drawnPoints() > 0);
        QTest::qWait(60); // axes and plot settle in the next turns of the loop
    }
};

} // namespace lockstep::uitest
