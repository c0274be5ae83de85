// SPDX-License-Identifier: MIT
#include "app/ui/pages/nodes/node_list_editor.h"

#include <QProcess>

#include "base/command_prefix.h"
#include "base/command_request.h"
#include "models/cells.h"

namespace lockstep::ui {

using core::qs;

NodeListEditor::~NodeListEditor() {
    core::endWithoutWaiting(std::move(m_adding));
}

void NodeListEditor::over(const Result<void> &result) {
    if (!result)
        Q_EMIT failed(QString::fromStdString(result.error().message()));
    Q_EMIT changed();
}

void NodeListEditor::add(const core::NodeEntry &node) {
    if (node.how == "slurm")
        return addPartition(node);
    over(core::addNode(node, core::windowPatience));
}

void NodeListEditor::addPartition(const core::NodeEntry &node) {
    const auto ctl = core::findCtl();
    if (!ctl) {
        Q_EMIT failed(QString::fromStdString(ctl.error().message()));
        return;
    }
    m_adding = std::make_unique<QProcess>();
    connect(m_adding.get(), &QProcess::finished, this, [this](int code) {
        if (code != 0)
            Q_EMIT failed(QString::fromUtf8(m_adding->readAllStandardError()).trimmed());
        m_adding.release()->deleteLater();
        Q_EMIT changed();
    });
    QStringList words = {QStringLiteral("nodes"), QStringLiteral("add"), QStringLiteral("--partition"),
                         qs(node.partition)};
    if (!node.agent.empty())
        words << QStringLiteral("--agent") << qs(node.agent);
    m_adding->start(qs(*ctl), words);
}

void NodeListEditor::remove(const core::NodeEntry &node) {
    over(core::removeNode(node.name, core::windowPatience));
}

void NodeListEditor::setInterface(const core::NodeEntry &node, const QString &interface) {
    core::NodeEntry changed = node;
    changed.interfacePinned = !interface.isEmpty();
    if (changed.interfacePinned)
        changed.interface = interface.toStdString();
    over(core::replaceNode(changed));
}

void NodeListEditor::keepChoices(const core::DoctorSnapshot &snapshot) {
    over(core::keepChoices(snapshot));
}

} // namespace lockstep::ui

#include "moc_node_list_editor.cpp"
