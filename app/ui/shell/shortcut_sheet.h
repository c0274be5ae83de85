// SPDX-License-Identifier: MIT
#pragma once
#include <QDialog>

#include <vector>

class QLayout;

namespace lockstep::ui {

/// Every shortcut of the window, read from its buttons and actions, so that the sheet is never out of date. By page: what works on
/// all of them first. It scrolls where the screen is lower.
class ShortcutSheet : public QDialog {
    Q_OBJECT
public:
    explicit ShortcutSheet(QWidget *window);

private:
    struct Section;
    [[nodiscard]] std::vector<Section> sectionsOf(QWidget *window) const;
    void fill(QWidget &sheet, const std::vector<Section> &sections);
    [[nodiscard]] QLayout *gridOf(const Section &section, QWidget &sheet);
};

} // namespace lockstep::ui
