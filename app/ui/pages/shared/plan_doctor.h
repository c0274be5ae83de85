// SPDX-License-Identifier: MIT
#pragma once
#include <QElapsedTimer>
#include <QFrame>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nodes/doctor.h"

class QLabel;
class QPushButton;

namespace lockstep::ui {
class FindingList;
class SshAsker;

/// The doctor's findings on the nodes of a run (or a lab) before it starts: a summary, and each error and
/// warning with its fix. It examines when asked to, on a thread of its own.
class PlanDoctor : public QFrame {
    Q_OBJECT
public:
    explicit PlanDoctor(SshAsker &asker, QWidget *parent = nullptr);
    /// The nodes of the run, in its order, and its data set (empty: its folder is a person's own).
    void setRun(std::vector<core::NodeEntry> nodes, const std::string &dataset);
    /// `before`: the text before the first examination; `subject`: what an error would stop, "this run".
    void setSubject(const QString &before, const QString &subject);
    void examine();
    void stop();
    [[nodiscard]] bool examining() const { return m_job != nullptr; }
    /// It examined just these nodes within the last ten minutes.
    [[nodiscard]] bool asked() const;
    [[nodiscard]] bool anyError() const; ///< of that examination: a run would fail or hang
    /// Why no run can begin on this host, by the last examination: "far can't be reached: …"; empty: it can, or is unknown.
    [[nodiscard]] std::string whyUnusable(const std::string &host) const;
    [[nodiscard]] QString sentence() const;
    [[nodiscard]] FindingList *findings() const { return m_list; }
    [[nodiscard]] QPushButton *button() const { return m_button; }
    /// Node's name → address of its chosen interface.
    [[nodiscard]] std::map<std::string, std::string> addresses() const;

Q_SIGNALS:
    void finished(); ///< interfaces that were found are in the book
    void stopped();
    void failed(const QString &sentence);

private:
    void take(const core::DoctorSnapshot &snapshot, const std::vector<core::Finding> &findings);
    void restyle();
    SshAsker &m_asker;
    std::vector<core::NodeEntry> m_nodes;
    std::string m_dataset;
    std::unique_ptr<core::DoctorJob> m_job;
    core::DoctorSnapshot m_snapshot; ///< the last one
    std::vector<core::Finding> m_found;
    QElapsedTimer m_age;
    QString m_progress, m_before, m_subject;
    bool m_stopping = false;
    QLabel *m_sentence;
    QPushButton *m_button;
    FindingList *m_list;
};

} // namespace lockstep::ui
