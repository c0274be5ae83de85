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

/// The machine that keeps the queue of runs over nodes: this one, or the first node, so that this one may leave.
class QueuePlace : public QWidget {
    Q_OBJECT
public:
    explicit QueuePlace(QWidget *parent);
    /// For these places, of which the first is the first node. If it can't keep the queue, the choice is disabled and says why.
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
