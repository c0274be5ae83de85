// SPDX-License-Identifier: MIT
#pragma once
#include <Qt>

namespace lockstep::core {

/// Roles that all models here share, besides Qt's (DisplayRole: formatted text; ToolTipRole: also why a value is
/// unknown; TextAlignmentRole: right for numbers).
enum Role {
    ValueRole = Qt::UserRole + 1, ///< the plain number (or text), invalid when unknown; sort by this
    MethodRole,                   ///< "baseline" | "dp" | "ddp" | "": the colour
    RunIdRole,                    ///< QString
    StateRole,                    ///< "queued", "running", "done", "failed", "stopped", "not run", …
    ReasonRole,                   ///< why it is not done
    PublishedRole,                ///< bool: a published figure, drawn dotted
    LevelRole                     ///< "debug" | "info" | "warning" | "error"
};

} // namespace lockstep::core
