// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>

#include <map>
#include <memory>

#include "nodes/ssh_questions.h"

class QWidget;

namespace lockstep::ui {

/// Shows ssh's questions (a host key, a passphrase) as dialogs over `window`, for programs started with its answers().
/// Must live as long as those programs may ask.
class SshAsker : public QObject {
    Q_OBJECT
public:
    explicit SshAsker(QWidget *window);
    ~SshAsker() override;
    /// Without a socket (`failed` says why) ssh runs in batch mode and asks nothing.
    [[nodiscard]] core::SshAnswers answers();

Q_SIGNALS:
    void failed(const QString &sentence);

private:
    void ask(int id, const core::SshQuestion &question);
    QWidget *m_window;
    std::unique_ptr<core::SshQuestionServer> m_questions;
    core::SshAnswers m_answers;
    std::map<int, QWidget *> m_dialogs;
};

} // namespace lockstep::ui
