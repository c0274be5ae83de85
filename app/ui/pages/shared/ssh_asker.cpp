// SPDX-License-Identifier: MIT
#include "app/ui/pages/shared/ssh_asker.h"

#include <QWidget>

#include "app/ui/pages/shared/ssh_question_dialog.h"

namespace lockstep::ui {

SshAsker::SshAsker(QWidget *window) : QObject(window), m_window(window) {}

SshAsker::~SshAsker() = default;

core::SshAnswers SshAsker::answers() {
    if (m_questions)
        return m_answers;
    m_questions = std::make_unique<core::SshQuestionServer>();
    auto started = m_questions->start();
    if (!started) {
        Q_EMIT failed(QString::fromStdString(started.error().message()));
        m_questions.reset();
        return {};
    }
    m_answers = *started;
    connect(m_questions.get(), &core::SshQuestionServer::asked, this, &SshAsker::ask);
    connect(m_questions.get(), &core::SshQuestionServer::withdrawn, this, [this](int id) {
        const auto dialog = m_dialogs.find(id);
        if (dialog != m_dialogs.end())
            dialog->second->close();
    });
    return m_answers;
}

void SshAsker::ask(int id, const core::SshQuestion &question) {
    auto *dialog = new SshQuestionDialog(question, m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    m_dialogs[id] = dialog;
    connect(dialog, &QDialog::finished, this, [this, id, dialog](int result) {
        m_dialogs.erase(id);
        if (result == QDialog::Accepted)
            m_questions->answer(id, dialog->answer());
        else
            m_questions->refuse(id);
    });
    dialog->open();
}

} // namespace lockstep::ui

#include "moc_ssh_asker.cpp"
