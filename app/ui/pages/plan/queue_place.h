// SPDX-License-Identifier: MIT
#pragma once
#include <QString>
#include <QWidget>

#include <vector>

#include "ipc/placement.h"
#include "nodes/node_book.h"

class QLabel;
class QPushButton;

namespace lockstep::ui {

/// Where the queue of runs over nodes lives: on this machine, or on the first node, so that this one may leave.
class QueuePlace : public QWidget {
    Q_OBJECT
public:
    explicit QueuePlace(QWidget *parent);
    /// Of these places, whose first is the first node. Where it can't keep the queue the choice is off and says why.
    void show(const std::vector<NodePlace> &places, const std::vector<core::NodeEntry> &book);
    /// The machine that shall keep it, as ssh knows it; empty: this one.
    [[nodiscard]] QString host() const;
    [[nodiscard]] QString noteText() const;
    [[nodiscard]] QPushButton *hereButton() const { return m_here; }
    [[nodiscard]] QPushButton *thereButton() const { return m_there; }

private:
    void showNote();
    void sayWhere(const QString &node);
    QPushButton *m_here, *m_there;
    QLabel *m_note;
    QString m_host, m_whyNot;
};

} // namespace lockstep::ui
