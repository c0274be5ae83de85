// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/torchrun_box.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "experiment/plan.h"
#include "launch/torchrun_command.h"

namespace lockstep::ui {
namespace {

/// Breaks a long command before its flags, so that it can be read and still be pasted into a shell.
QString wrapLine(const QString &command) {
    constexpr qsizetype longest = 40;
    QString out;
    qsizetype width = 0;
    for (const QString &word : command.split(QLatin1Char(' '))) {
        if (width > 0 && width + 1 + word.size() > longest && word.startsWith(QLatin1String("--"))) {
            out += QStringLiteral(" \\\n  ");
            width = 2;
        } else if (width > 0) {
            out += QLatin1Char(' ');
            ++width;
        }
        out += word;
        width += word.size();
    }
    return out;
}

/// Over nodes there is one command per node, under a comment with its name.
QString wrapCommand(const QString &commands, const RunConfig &config) {
    const QStringList lines = commands.split(QLatin1Char('\n'));
    QStringList out;
    for (qsizetype i = 0; i < lines.size(); ++i) {
        if (lines.size() > 1 && config.nodes.size() > 1 && !lines[i].startsWith(u'#'))
            out << QStringLiteral("# node %1: %2")
                       .arg(i)
                       .arg(QString::fromStdString(titleOf(config.nodes[std::size_t(i)])));
        out << wrapLine(lines[i]);
    }
    return out.join(QLatin1Char('\n'));
}

} // namespace

TorchrunBox::TorchrunBox(const Theme &theme, QWidget *parent) : QWidget(parent), m_theme(theme) {
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(grid);
    auto *head = new QHBoxLayout;
    auto *title = makeLabel(tr("As a command"), "small", this);
    title->setToolTip(tr("The chosen row as a shell command"));
    head->addWidget(title);
    head->addStretch(1);
    m_copy = new QPushButton(tr("Copy"), this);
    m_copy->setProperty("verb", tr("Copy the command"));
    m_copy->setShortcut(QKeySequence(Qt::ALT | Qt::Key_C));
    m_copy->setToolTip(tr("Copies the command (Alt+C)"));
    connect(m_copy, &QPushButton::clicked, this,
            [this] { QGuiApplication::clipboard()->setText(m_command->toPlainText()); });
    head->addWidget(m_copy);
    layout->addLayout(head);
    m_command = new QPlainTextEdit(this);
    m_command->setReadOnly(true);
    m_command->setFrameShape(QFrame::NoFrame);
    m_command->setFont(Theme::mono(Type::Small));
    m_command->setFixedHeight(80);
    m_command->setTabChangesFocus(true);
    m_command->setAccessibleName(tr("Command"));
    layout->addWidget(m_command);
    connect(&m_theme, &Theme::changed, this, &TorchrunBox::restyle);
    restyle();
}

void TorchrunBox::show(const core::PlannedRun *run) {
    m_copy->setEnabled(run);
    if (!run)
        return m_command->clear();
    m_command->setPlainText(wrapCommand(QString::fromStdString(core::torchrunCommand(*run)), run->config));
}

void TorchrunBox::setNodeCount(std::size_t nodes) {
    m_command->setFixedHeight(nodes > 1 ? 144 : 80);
}

QString TorchrunBox::text() const {
    return m_command->toPlainText();
}

void TorchrunBox::restyle() {
    m_theme.setIcon(m_copy, QStringLiteral("copy"), m_theme.palette().textSecondary);
}

} // namespace lockstep::ui

#include "moc_torchrun_box.cpp"
