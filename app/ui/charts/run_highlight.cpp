// SPDX-License-Identifier: MIT
#include "app/ui/charts/run_highlight.h"

namespace lockstep::ui {

void RunHighlight::point(const Run &run) {
    if (run == m_run)
        return;
    m_run = run;
    Q_EMIT changed();
}

} // namespace lockstep::ui

#include "moc_run_highlight.cpp"
