// SPDX-License-Identifier: MIT
#pragma once

class QWidget;

namespace lockstep::ui {
class QueueControl;
class StripState;

/// Stops what the strip shows. Where runs wait behind it, a person is asked first: drop them too, or stop the current run alone?
/// Returns at once.
void stopOrAsk(QWidget *parent, StripState &strip, QueueControl &control);

} // namespace lockstep::ui
