// SPDX-License-Identifier: MIT
#pragma once
#include <QWidget>

#include <cstddef>

class QPlainTextEdit;
class QPushButton;

namespace lockstep::core {
struct PlannedRun;
}

namespace lockstep::ui {
class Theme;

/// The shell command for one planned run, with torchrun, for copying.
class TorchrunBox : public QWidget {
    Q_OBJECT
public:
    explicit TorchrunBox(const Theme &theme, QWidget *parent = nullptr);
    void show(const core::PlannedRun *run); ///< null: none
    void setNodeCount(std::size_t nodes);   ///< of several nodes more lines are shown: each has a command
    [[nodiscard]] QString text() const;

private:
    void restyle();

    const Theme &m_theme;
    QPushButton *m_copy;
    QPlainTextEdit *m_command;
};

} // namespace lockstep::ui
