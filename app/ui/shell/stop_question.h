// SPDX-License-Identifier: MIT
#pragma once

class QWidget;

namespace lockstep::ui {
class QueueControl;
class StripState;

/// Stops the experiment on the strip. If runs are waiting, asks first: drop them too, or stop only the current run?
/// Returns at once.
void stopOrAsk(QWidget *parent, StripState &strip, QueueControl &control);

} // namespace lockstep::ui
