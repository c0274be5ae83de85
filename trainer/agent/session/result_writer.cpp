// SPDX-License-Identifier: MIT
#include "trainer/agent/session/result_writer.h"

#include "ipc/file_system.h"
#include "ipc/logging.h"

namespace lockstep::agent {

namespace {
constexpr int mostResultFailures = 600;
constexpr std::chrono::milliseconds answerCheckInterval{2};
} // namespace

void ResultWriter::write(Compose compose, std::function<void(const Result<void> &written)> done) {
    m_compose = std::move(compose);
    m_done = std::move(done);
    begin();
}

void ResultWriter::giveUp() {
    m_givenUp = true;
}

/// Has the log written and synced first, so that the result can say whether that succeeded.
void ResultWriter::begin() {
    m_loop.cancel(m_timer);
    m_journal.finish();
    ask([path = m_folder.folder().summary()](
            Try &one) { one.summary = realFileSystem().readAll(path).value_or(std::string()); },
        [this] { writeNow(); });
}

void ResultWriter::writeNow() {
    ask(
        [held = m_folder.held(), path = m_folder.folder().result(), shared = m_folder.shared(),
         json = toJson(m_compose(m_try->summary))](Try &one) {
            one.gone = held->gone();
            if (one.gone)
                one.written = fail(Error::failed(held->path() + " was removed while the run went on"));
            else if (!shared) // in a shared folder agent 0 writes it
                one.written = realFileSystem().writeAtomically(path, json);
        },
        [this] { tried(); });
}

/// Calls `next` once the disk has answered.
void ResultWriter::ask(std::function<void(Try &)> question, std::function<void()> next) {
    m_try = std::make_shared<Try>(m_try ? std::move(*m_try) : Try{});
    m_asked = m_journal.disk().run([one = m_try, question = std::move(question)] { question(*one); });
    m_timer = m_loop.every(answerCheckInterval, [this, next = std::move(next)] {
        if (m_asked.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
            m_loop.cancel(m_timer);
            next();
        } else if (m_givenUp && m_journal.disk().silentFor().count() > 0) {
            end(fail(Error::failed("the disk under " + m_folder.folder().path + " does not answer")));
        }
    });
}

void ResultWriter::tried() {
    const Result<void> written = m_try->written;
    const bool final = written || m_try->gone || m_givenUp || m_failures++ >= mostResultFailures;
    m_try.reset();
    if (final)
        return end(written);
    if (m_failures == 1)
        alertAndLog(m_journal, "result_unwritten",
                    "the result can't be written: " + written.error().message() + "; tried again for ten minutes");
    m_timer = m_loop.after(oneSecond, [this] { begin(); });
}

void ResultWriter::end(const Result<void> &written) {
    m_loop.cancel(m_timer);
    if (!written)
        logError("the result could not be written: " + written.error().message());
    m_done(written);
}

} // namespace lockstep::agent
