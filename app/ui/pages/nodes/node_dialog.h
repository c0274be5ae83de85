// SPDX-License-Identifier: MIT
#pragma once
#include <QDialog>

#include "nodes/node_book.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace lockstep::ui {

/// Adds a node: a host as ssh knows it (the person's own configuration is offered), this machine, or a partition of Slurm.
class NodeDialog : public QDialog {
    Q_OBJECT
public:
    explicit NodeDialog(QWidget *parent = nullptr);
    /// What to add; with a partition its `name` and `host` are empty.
    [[nodiscard]] core::NodeEntry node() const;
    [[nodiscard]] QComboBox *howBox() const { return m_how; }
    [[nodiscard]] QComboBox *hostBox() const { return m_host; }
    [[nodiscard]] QLineEdit *nameField() const { return m_name; }
    [[nodiscard]] QLineEdit *agentField() const { return m_agent; }
    [[nodiscard]] QPushButton *addButton() const { return m_add; }
    [[nodiscard]] QString mistake() const; ///< shown under the fields; empty: it can be added

private:
    void check();
    QComboBox *m_how, *m_host;
    QLineEdit *m_name, *m_partition, *m_agent;
    QLabel *m_hostLabel, *m_nameLabel, *m_partitionLabel, *m_mistake;
    QPushButton *m_add;
};

/// The names of `Host` lines in an ssh configuration, without patterns; those of files that it includes by name, too.
[[nodiscard]] QStringList sshHosts(const QString &file);

} // namespace lockstep::ui
