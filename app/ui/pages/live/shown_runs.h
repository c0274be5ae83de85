// SPDX-License-Identifier: MIT
#pragma once
#include <QString>

#include <memory>
#include <vector>

#include "app/ui/charts/run_highlight.h"
#include "app/ui/pages/live/curve_lines.h"
#include "app/ui/pages/shared/run_style.h"

namespace lockstep::core {
struct Published;
class RunCurves;
class RunStore;
} // namespace lockstep::core

namespace lockstep::ui {
class Workspace;

/// The common data of Live's cards: the runs, their styles, and how a person wants curves drawn.
class ShownRuns {
public:
    explicit ShownRuns(Workspace &workspace) : m_workspace(workspace) {}

    /// Updates which runs exist and which are hidden.
    void refresh();
    void setView(const CurveView &view) { m_view = view; }
    void setPublishedWanted(bool wanted) { m_publishedWanted = wanted; }

    [[nodiscard]] const std::vector<RunStyle> &styles() const { return m_styles; }
    /// The same in the order of the table of methods, baseline first; runs of one method keep their order.
    [[nodiscard]] std::vector<RunStyle> stylesByMethod() const;
    [[nodiscard]] const RunStyle *find(const QString &runId) const; ///< null: no such run
    [[nodiscard]] const core::RunStore &storeOf(const RunStyle &style) const;
    [[nodiscard]] core::RunSet &runs() const;
    [[nodiscard]] core::RunCurves &curves() const; ///< of the loss
    [[nodiscard]] const CurveView &view() const { return m_view; }
    /// The run under the pointer, which all cards and the list of runs share.
    [[nodiscard]] RunHighlight &highlight() const { return *m_highlight; }
    /// The published figures to draw as well; null: none.
    [[nodiscard]] const core::Published *published() const;
    /// The most epochs that a shown run will have, as far as it is known.
    [[nodiscard]] double epochs() const;
    /// A note that says which repeats a chart of mean steps draws; empty: no run has several.
    [[nodiscard]] QString medianNote() const;
    /// The text of an empty chart: that all runs are hidden; else `never` once all are over, `yet` before.
    [[nodiscard]] QString whyEmpty(const QString &yet, const QString &never) const;

private:
    Workspace &m_workspace;
    std::vector<RunStyle> m_styles;
    CurveView m_view;
    bool m_publishedWanted = false;
    std::unique_ptr<RunHighlight> m_highlight = std::make_unique<RunHighlight>();
};

} // namespace lockstep::ui
