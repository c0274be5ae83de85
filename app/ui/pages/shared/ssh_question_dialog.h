// SPDX-License-Identifier: MIT
#pragma once
#include <QDialog>

#include "nodes/ssh_questions.h"

class QLineEdit;
class QPushButton;

namespace lockstep::ui {

/// A question of ssh: whether a new host's key is right, with its fingerprint, or a passphrase.
class SshQuestionDialog : public QDialog {
    Q_OBJECT
public:
    explicit SshQuestionDialog(const core::SshQuestion &question, QWidget *parent = nullptr);
    /// The answer for ssh when the dialog was accepted.
    [[nodiscard]] QString answer() const;
    [[nodiscard]] QLineEdit *field() const { return m_field; } ///< null for a host's key
    [[nodiscard]] QPushButton *acceptButton() const { return m_accept; }

private:
    core::SshQuestion m_question;
    QLineEdit *m_field = nullptr;
    QPushButton *m_accept;
};

} // namespace lockstep::ui
