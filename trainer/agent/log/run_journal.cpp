// SPDX-License-Identifier: MIT
#include "trainer/agent/log/run_journal.h"

#include "ipc/logging.h"

namespace lockstep::agent {

RunJournal::RunJournal(LogWriter writer, const Clock &clock, std::string path)
    : m_writer(std::move(writer)), m_clock(clock), m_window(path, m_writer.nextSeq()), m_syncFile(m_sync.add(path)) {}

Result<std::unique_ptr<RunJournal>> RunJournal::open(FileSystem &fs, const Clock &clock, const std::string &path,
                                                     int node, const std::string &runId, const std::string &host) {
    Frame header;
    header.monoNs = clock.monoNs();
    header.wallUs = clock.wallUs();
    HeaderFrame body;
    body.run = runId;
    body.host = host;
    header.body = body;
    auto writer = LogWriter::open(fs, path, node, header);
    if (!writer)
        return fail(writer.error());
    return std::unique_ptr<RunJournal>(new RunJournal(std::move(*writer), clock, path));
}

void RunJournal::append(Frame frame) {
    frame.monoNs = m_clock.monoNs();
    frame.wallUs = m_clock.wallUs();
    appendLine(encode(frame));
}

void RunJournal::append(FrameBody body, std::optional<int> rank) {
    Frame frame;
    frame.rank = rank;
    frame.body = std::move(body);
    append(std::move(frame));
}

void RunJournal::note(std::string level, std::string text) {
    append(LogFrame{std::move(level), std::move(text), "agent"});
}

void RunJournal::alert(std::string severity, std::string kind, std::string message, std::optional<int> rank) {
    AlertFrame body;
    body.severity = std::move(severity);
    body.kind = std::move(kind);
    body.message = std::move(message);
    append(std::move(body), rank);
}

void RunJournal::state(RunState state, std::string detail) {
    StateFrame body;
    body.state = state;
    body.detail = std::move(detail);
    append(std::move(body));
}

void RunJournal::appendLine(std::string_view encoded) {
    const std::uint64_t offset = m_writer.bytes();
    m_window.remember(m_writer.append(encoded), offset, m_writer.behind());
}

void RunJournal::requestSync() {
    if (m_writer.behind())
        (void)m_writer.sync(); // tries to write the waiting lines; the caller checks behind()
    m_sync.request(m_syncFile);
}

void RunJournal::finish() {
    (void)m_writer.sync();
}

void alertAndLog(RunJournal &journal, std::string severity, std::string kind, std::string message,
                 std::optional<int> rank) {
    (severity == "error" ? logError : logWarning)(message);
    journal.alert(std::move(severity), std::move(kind), std::move(message), rank);
}

} // namespace lockstep::agent
