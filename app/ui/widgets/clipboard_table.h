// SPDX-License-Identifier: MIT
#pragma once

class QMimeData;
class QString;
class QTableView;

namespace lockstep::core {
struct TextTable;
}

namespace lockstep::ui {

/// For the clipboard: tab-separated text for terminals and spreadsheets, an HTML table for word processors and mail.
/// The caller owns it until the clipboard takes it.
[[nodiscard]] QMimeData *mimeOf(const core::TextTable &table);
/// The same of tab-separated text whose first line is the heads.
[[nodiscard]] QMimeData *mimeOfTabbed(const QString &tabbed);

/// Gives a table "Copy rows" (Ctrl+C: the selected ones, with the heads) and "Copy table" (Ctrl+Shift+C), in its context menu
/// too. Copied is what is seen: visible columns in their order, cells as they read.
void installTableCopy(QTableView *table);

} // namespace lockstep::ui
