// SPDX-License-Identifier: MIT
#include "trainer/agent/session/result_writer.h"

#include "ipc/file_system.h"
#include "ipc/logging.h"

namespace lockstep::agent {

namespace {
constexpr int mostResultFailures = 600;
} // namespace

void ResultWriter::write(Compose compose, std::function<void()> done) {
    m_compose = std::move(compose);
    m_done = std::move(done);
    tryOnce();
}

void ResultWriter::giveUp() {
    if (m_timer != 0)
        m_failures = mostResultFailures;
}

Result<void> ResultWriter::writeNow() const {
    const NewRunFolder &folder = m_local.newFolder();
    if (folder.shared())
        return {}; // agent 0 writes it
    return realFileSystem().writeAtomically(folder.folder().result(), toJson(m_compose()));
}

void ResultWriter::tryOnce() {
    m_loop.cancel(m_timer);
    m_local.journal().finish();
    const bool gone = m_local.newFolder().gone(); // then the folder must not be created again
    const auto written =
        gone ? Result<void>(fail(Error::failed(m_local.folder().path + " was removed while the run went on")))
             : writeNow();
    if (!written && !gone && m_failures++ < mostResultFailures) {
        if (m_failures == 1)
            m_local.alert("error", "result_unwritten",
                          "the result can't be written: " + written.error().message() +
                              "; tried again for ten minutes");
        m_timer = m_loop.after(oneSecond, [this] { tryOnce(); });
        return;
    }
    if (!written)
        logError("the result could not be written: " + written.error().message());
    m_done();
}

} // namespace lockstep::agent
