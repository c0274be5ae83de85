// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include <QString>

#include "ipc/frames.h"
#include "ipc/reported_facts.h"
#include "ipc/run_folder.h"

namespace lockstep::core {

/// Identity of a run: its id, its record, and what a script reported about itself.
class RunIdentity {
public:
    explicit RunIdentity(QString runId) : m_runId(std::move(runId)) {}

    void setRecord(const RunRecord &record) { m_record = record; }
    /// The run id in the log's header: used if no other source named it.
    void useRunId(const std::string &runId);
    /// A frame of node 0's log, as it was sent: the first one of a rank distinguishes the measurement from all others. What other machines
    /// wrote does not, as each of them may write anything.
    void useBegin(const Frame &frame);
    /// What a rank of that node reports; of several ranks the first node's lowest counts (ipc/reported_facts.h).
    void addState(int node, int rank, const StateFrame &body) {
        m_about.take(node, rank, body.about);
        m_files.take(node, rank, body.files);
    }

    [[nodiscard]] QString runId() const { return m_runId; }
    [[nodiscard]] QString title() const;  ///< the record's name, else the run id
    [[nodiscard]] QString method() const; ///< a name of ipc/methods.h, or what a script calls it; empty when unknown
    [[nodiscard]] const std::optional<RunRecord> &record() const { return m_record; }
    [[nodiscard]] const About &about() const { return m_about.all(); } ///< empty: no script, or it reported nothing
    /// Of the trainer its data, of a script its own Python files; empty: unknown.
    [[nodiscard]] const FileDigests &files() const { return m_files.all(); }
    /// By which a copy of the run is recognised, whatever its id: when the first frame of a rank in node 0's log was made, by
    /// both of its clocks. Empty: unknown.
    [[nodiscard]] const std::string &begin() const { return m_begin; }

private:
    QString m_runId;
    std::optional<RunRecord> m_record;
    ReportedFacts m_about{mostWords}, m_files{mostFiles};
    std::string m_begin;
};

} // namespace lockstep::core
