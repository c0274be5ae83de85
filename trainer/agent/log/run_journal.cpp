// SPDX-License-Identifier: MIT
#include "trainer/agent/log/run_journal.h"

#include "ipc/logging.h"

namespace lockstep::agent {

/// The header is in the file already. That of a new log is kept in memory, too: who follows from the start needs it first.
RunJournal::RunJournal(LogWriter writer, const std::string &header, const Clock &clock, std::string path, int node,
                       const std::string &spare)
    : m_clock(clock), m_path(std::move(path)), m_node(node), m_nextSeq(writer.nextSeq()), m_bytes(writer.bytes()),
      m_window(m_reader, m_path, m_nextSeq == 1 ? 0 : m_nextSeq), m_disk(spare),
      m_log(m_disk.add(std::move(writer).release())) {
    if (m_nextSeq == 1)
        m_window.remember(sealLine(header, node, 0), 0, false);
}

Result<std::unique_ptr<RunJournal>> RunJournal::open(FileSystem &fs, const Clock &clock, const std::string &path,
                                                     int node, const std::string &runId, const std::string &host,
                                                     const std::string &spare) {
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
    return std::unique_ptr<RunJournal>(new RunJournal(std::move(*writer), encode(header), clock, path, node, spare));
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

void RunJournal::alert(AlertName name, std::string message, std::optional<int> rank) {
    append(makeAlert(name, std::move(message)), rank);
}

void RunJournal::state(RunState state, std::string detail) {
    StateFrame body;
    body.state = state;
    body.detail = std::move(detail);
    append(std::move(body));
}

void RunJournal::appendLine(std::string_view encoded) {
    std::string line = sealLine(encoded, m_node, m_nextSeq++);
    const std::uint64_t offset = m_bytes;
    if (m_disk.append(m_log, line + "\n"))
        m_bytes += line.size() + 1;
    m_window.remember(std::move(line), offset, m_disk.state(m_log).heldBytes > manyHeldBytes);
}

void RunJournal::sayOnConsole(LogLevel level, const std::string &text) {
    (void)m_disk.run([level, text] { log(level, text); });
}

void RunJournal::requestSync() {
    m_disk.requestSync(m_log, m_nextSeq);
}

void alertAndLog(RunJournal &journal, AlertName name, std::string message, std::optional<int> rank) {
    journal.sayOnConsole(name.row().severity == "error" ? LogLevel::Error : LogLevel::Warning, message);
    journal.alert(name, std::move(message), rank);
}

} // namespace lockstep::agent
