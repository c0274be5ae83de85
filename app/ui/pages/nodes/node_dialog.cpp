// SPDX-License-Identifier: MIT
#include "app/ui/pages/nodes/node_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QFile>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QVBoxLayout>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "models/cells.h"

namespace lockstep::ui {
namespace {

constexpr int deepestInclude = 8;

void gatherHosts(const QString &file, QStringList &hosts, int depth) {
    QFile config(file);
    if (depth > deepestInclude || !config.open(QIODevice::ReadOnly | QIODevice::Text))
        return;
    while (!config.atEnd()) {
        QString line = QString::fromUtf8(config.readLine()).simplified();
        line.replace(u'=', u' ');
        QStringList words = line.split(u' ', Qt::SkipEmptyParts);
        if (words.size() < 2)
            continue;
        const QString key = words.takeFirst().toLower();
        if (key == QLatin1String("host")) {
            for (const QString &word : words)
                if (!word.contains(u'*') && !word.contains(u'?') && !word.startsWith(u'!') && !hosts.contains(word))
                    hosts << word;
        } else if (key == QLatin1String("include")) {
            for (QString path : words) {
                if (path.startsWith(u'~'))
                    path.replace(0, 1, QDir::homePath());
                gatherHosts(QDir::isAbsolutePath(path) ? path : QDir::homePath() + QStringLiteral("/.ssh/") + path,
                            hosts, depth + 1);
            }
        }
    }
}

QString nameFrom(const QString &host) {
    QString name = host.section(u'@', -1);
    name.replace(QRegularExpression(QStringLiteral("[^A-Za-z0-9._-]")), QStringLiteral("-"));
    return name;
}

} // namespace

QStringList sshHosts(const QString &file) {
    QStringList hosts;
    gatherHosts(file, hosts, 0);
    return hosts;
}

NodeDialog::NodeDialog(QWidget *parent) : QDialog(parent) {
    setWindowTitle(tr("Add node"));
    setMinimumWidth(60 * grid);
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(3 * grid, 3 * grid, 3 * grid, 2 * grid);
    layout->setSpacing(grid);
    layout->addWidget(makeLabel(windowTitle(), "title", this));
    auto *form = new QFormLayout;
    form->setSpacing(grid);
    m_how = new QComboBox(this);
    m_how->addItem(tr("A host, by ssh"), QStringLiteral("ssh"));
    m_how->addItem(tr("This machine"), QStringLiteral("local"));
    m_how->addItem(tr("All nodes of a Slurm partition"), QStringLiteral("slurm"));
    m_host = new QComboBox(this);
    m_host->setEditable(true);
    m_host->addItems(sshHosts(QDir::homePath() + QStringLiteral("/.ssh/config")));
    m_host->setCurrentText({});
    m_host->lineEdit()->setPlaceholderText(tr("as in ssh HOST"));
    m_name = new QLineEdit(this);
    m_name->setPlaceholderText(tr("the host's name"));
    m_partition = new QLineEdit(this);
    m_agent = new QLineEdit(this);
    m_agent->setPlaceholderText(tr("in PATH there, or copied by Sync"));
    m_hostLabel = new QLabel(tr("Host"), this);
    m_nameLabel = new QLabel(tr("Name"), this);
    m_partitionLabel = new QLabel(tr("Partition"), this);
    form->addRow(tr("Reached by"), m_how);
    form->addRow(m_hostLabel, m_host);
    form->addRow(m_partitionLabel, m_partition);
    form->addRow(m_nameLabel, m_name);
    form->addRow(tr("lockstep-agent"), m_agent);
    layout->addLayout(form);
    m_mistake = makeLabel({}, "wrong", this);
    m_mistake->setWordWrap(true);
    m_mistake->setTextFormat(Qt::PlainText);
    layout->addWidget(m_mistake);
    layout->addWidget(makeLabel(tr("Uses your ssh configuration and keys; needs no root."), "secondary", this));
    auto *buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_add = buttons->addButton(tr("Add"), QDialogButtonBox::AcceptRole);
    m_add->setDefault(true);
    layout->addSpacing(grid);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_how, &QComboBox::currentIndexChanged, this, &NodeDialog::check);
    connect(m_host, &QComboBox::editTextChanged, this, &NodeDialog::check);
    for (QLineEdit *field : {m_name, m_partition, m_agent})
        connect(field, &QLineEdit::textChanged, this, &NodeDialog::check);
    check();
    m_host->setFocus();
}

core::NodeEntry NodeDialog::node() const {
    core::NodeEntry node;
    node.how = m_how->currentData().toString().toStdString();
    node.agent = m_agent->text().trimmed().toStdString();
    if (node.how == "slurm") {
        node.partition = m_partition->text().trimmed().toStdString();
        return node;
    }
    const QString host = node.how == "ssh" ? m_host->currentText().trimmed() : QString();
    const QString name = m_name->text().trimmed();
    node.host = host.toStdString();
    node.name = (!name.isEmpty() ? name : host.isEmpty() ? QStringLiteral("here") : nameFrom(host)).toStdString();
    return node;
}

QString NodeDialog::mistake() const {
    return m_mistake->text();
}

void NodeDialog::check() {
    const QString how = m_how->currentData().toString();
    const bool ssh = how == QLatin1String("ssh"), slurm = how == QLatin1String("slurm");
    for (QWidget *widget : std::initializer_list<QWidget *>{m_hostLabel, m_host})
        widget->setVisible(ssh);
    for (QWidget *widget : std::initializer_list<QWidget *>{m_partitionLabel, m_partition})
        widget->setVisible(slurm);
    for (QWidget *widget : std::initializer_list<QWidget *>{m_nameLabel, m_name})
        widget->setVisible(!slurm);
    core::NodeEntry entry = node();
    const bool empty = ssh ? entry.host.empty() : slurm && entry.partition.empty();
    if (slurm)
        entry.name = entry.host = "node"; // Slurm supplies the partition's own
    const auto right = empty ? Result<void>() : core::checkNode(entry);
    m_mistake->setText(right ? QString() : QString::fromStdString(right.error().message()));
    m_mistake->setVisible(!right);
    m_add->setEnabled(!empty && right.has_value());
}

} // namespace lockstep::ui

#include "moc_node_dialog.cpp"
