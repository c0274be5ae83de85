// SPDX-License-Identifier: MIT
#include "app/ui/pages/shared/ssh_question_dialog.h"

#include <QDialogButtonBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "models/cells.h"

namespace lockstep::ui {
namespace {

using core::qs;
using Question = core::SshQuestion::Kind;

QString titleOf(const core::SshQuestion &question) {
    switch (question.kind) {
    case Question::HostKey:
        return QObject::tr("Is this the right host?");
    case Question::Passphrase:
        return QObject::tr("Passphrase of an ssh key");
    case Question::Password:
        return QObject::tr("Password");
    case Question::Other:
        break;
    }
    return QObject::tr("ssh asks");
}

} // namespace

SshQuestionDialog::SshQuestionDialog(const core::SshQuestion &question, QWidget *parent)
    : QDialog(parent), m_question(question) {
    setWindowTitle(titleOf(question));
    setMinimumWidth(60 * grid);
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(3 * grid, 3 * grid, 3 * grid, 2 * grid);
    layout->setSpacing(grid);
    layout->addWidget(makeLabel(windowTitle(), "title", this));
    auto *buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    if (question.kind == Question::HostKey) {
        layout->addWidget(
            makePlainLabel(tr("This machine has never connected to %1. Its %2 key has this fingerprint; compare "
                              "it with the one that the host's owner gives:")
                               .arg(qs(question.host), qs(question.keyType)),
                           "", this));
        QLabel *print = makePlainLabel(qs(question.fingerprint), "", this);
        print->setFont(Theme::mono(Type::Body));
        layout->addWidget(print);
        layout->addWidget(makePlainLabel(
            tr("If accepted, it is stored in ssh's known_hosts, and any other key is refused from then on."),
            "secondary", this));
        m_accept = buttons->addButton(tr("Accept this key"), QDialogButtonBox::AcceptRole);
    } else {
        layout->addWidget(makePlainLabel(question.kind == Question::Passphrase ? qs(question.keyFile)
                                         : question.kind == Question::Password ? qs(question.host)
                                                                               : qs(question.prompt),
                                         "", this));
        m_field = new QLineEdit(this);
        m_field->setEchoMode(question.secret() ? QLineEdit::Password : QLineEdit::Normal);
        m_field->setAccessibleName(windowTitle());
        layout->addWidget(m_field);
        layout->addWidget(makePlainLabel(tr("It is passed to ssh and never stored; with ssh-agent you are not asked."),
                                         "secondary", this));
        m_accept = buttons->addButton(tr("Continue"), QDialogButtonBox::AcceptRole);
    }
    layout->addSpacing(grid);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    // A key is not to be accepted by a stray Enter.
    if (m_field)
        m_accept->setDefault(true);
    else
        buttons->button(QDialogButtonBox::Cancel)->setDefault(true);
}

QString SshQuestionDialog::answer() const {
    return m_field ? m_field->text() : QStringLiteral("yes");
}

} // namespace lockstep::ui

#include "moc_ssh_question_dialog.cpp"
