// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>

#include <memory>

#include "nodes/doctor.h"
#include "nodes/node_book.h"

class QProcess;

namespace lockstep::ui {

/// Changes to the list of nodes on disk, by a person or the doctor. `changed` or `failed` follows.
class NodeListEditor : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    ~NodeListEditor() override;
    /// A node, or a partition's nodes through lockstepctl, which takes a while.
    void add(const core::NodeEntry &node);
    void remove(const core::NodeEntry &node);
    void setInterface(const core::NodeEntry &node, const QString &interface); ///< empty: the doctor's choice
    /// The interfaces that the doctor found.
    void keepChoices(const core::DoctorSnapshot &snapshot);

Q_SIGNALS:
    void changed();
    void failed(const QString &sentence);

private:
    void addPartition(const core::NodeEntry &node);
    void over(const Result<void> &result);

    std::unique_ptr<QProcess> m_adding;
};

} // namespace lockstep::ui
