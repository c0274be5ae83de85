// SPDX-License-Identifier: MIT
#include "trainer/agent/session/result_writer.h"

#include <utility>

#include "ipc/file_system.h"
#include "ipc/logging.h"

namespace lockstep::agent {

namespace {
constexpr int mostResultFailures = 600;
constexpr std::chrono::milliseconds answerCheckInterval{2};
} // namespace

void ResultWriter::write(Compose compose, Handlers handlers) {
    m_compose = std::move(compose);
    m_handlers = std::move(handlers);
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
        } else if (m_journal.disk().silentFor().count() > 0) {
            const std::string silent = "the disk under " + m_folder.folder().path + " does not answer";
            if (m_givenUp)
                end(fail(Error::failed(silent)));
            else
                sayWaits(silent, "it is written when the disk answers");
        }
    });
}

void ResultWriter::tried() {
    const Result<void> written = m_try->written;
    const bool final = written || m_try->gone || m_givenUp || m_failures++ >= mostResultFailures;
    m_try.reset();
    if (final)
        return end(written);
    sayWaits(written.error().message(), "it is tried again each second for ten minutes");
    m_timer = m_loop.after(oneSecond, [this] { begin(); });
}

void ResultWriter::sayWaits(const std::string &why, const std::string &what) {
    if (std::exchange(m_saidWaits, true))
        return;
    const std::string sentence = "the result can't be written yet: " + why + "; " + what;
    alertAndLog(m_journal, "result_unwritten", sentence);
    m_handlers.waits(sentence);
}

void ResultWriter::end(const Result<void> &written) {
    m_loop.cancel(m_timer);
    if (!written)
        logError("the result could not be written: " + written.error().message());
    m_handlers.done(written);
}

} // namespace lockstep::agent
