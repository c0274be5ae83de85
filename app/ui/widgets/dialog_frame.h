// SPDX-License-Identifier: MIT
#pragma once

class QDialog;
class QVBoxLayout;

namespace lockstep::ui {

/// The layout of a dialog's body, with a hairline around it: without a window manager nothing else separates it from the window.
[[nodiscard]] QVBoxLayout *frameDialog(QDialog *dialog, int margin);

} // namespace lockstep::ui
