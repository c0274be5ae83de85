// SPDX-License-Identifier: MIT
#pragma once
#include <QElapsedTimer>

#include "app/ui/widgets/wrapped_label.h"

namespace lockstep::ui {
class ShownRuns;

/// The load that following puts on the running run's machine; hidden while no run is under way.
class WatchingLine : public WrappedLabel {
    Q_OBJECT
public:
    explicit WatchingLine(QWidget *parent);
    void refresh(const ShownRuns &shown);

private:
    QElapsedTimer m_written; ///< since the last sentence; not valid: none is there
};

} // namespace lockstep::ui
