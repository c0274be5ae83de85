// SPDX-License-Identifier: MIT
#pragma once
#include "app/ui/widgets/wrapped_label.h"

namespace lockstep::ui {
class Theme;
class Workspace;

/// The verdict so far, with a link to Verdict.
class VerdictLine : public WrappedLabel {
    Q_OBJECT
public:
    VerdictLine(const Theme &theme, Workspace &workspace, QWidget *parent);
    void refresh();

private:
    const Theme &m_theme;
    Workspace &m_workspace;
};

} // namespace lockstep::ui
