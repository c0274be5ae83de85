// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "ipc/error.h"
#include "ipc/run_folder.h"
#include "trainer/agent/log/new_run_folder.h"
#include "trainer/agent/log/run_journal.h"
#include "trainer/agent/net/event_loop.h"

namespace lockstep::agent {

/// Writes result.json once the log is written and synced. Without it readers think that the agent died, so a full disk is
/// waited for: up to ten minutes. The disk is asked on its own thread: the loop goes on meanwhile.
class ResultWriter {
public:
    /// Makes the result; gets the text of summary.json, empty if there is none. Called before each try.
    using Compose = std::function<RunResult(const std::string &summary)>;
    ResultWriter(EventLoop &loop, RunJournal &journal, const NewRunFolder &folder)
        : m_loop(loop), m_journal(journal), m_folder(folder) {}
    ~ResultWriter() { m_loop.cancel(m_timer); }
    ResultWriter(const ResultWriter &) = delete;
    ResultWriter &operator=(const ResultWriter &) = delete;

    struct Handlers {
        std::function<void(const std::string &sentence)> waits; ///< it can't be written yet, and why; called once
        std::function<void(const Result<void> &written)> done;  ///< it is written or cannot be; an error says why not
    };
    void write(Compose compose, Handlers handlers);
    void giveUp(); ///< a failed try is the last one, and a disk that does not answer is not waited for

private:
    /// What the disk's thread leaves for the loop.
    struct Try {
        std::string summary;
        Result<void> written;
        bool gone = false; ///< the folder was removed: nothing is written again
    };
    void begin();
    void writeNow();
    void ask(std::function<void(Try &)> question, std::function<void()> next);
    void tried();
    void sayWaits(const std::string &why, const std::string &what);
    void end(const Result<void> &written);

    EventLoop &m_loop;
    RunJournal &m_journal;
    const NewRunFolder &m_folder;
    Compose m_compose;
    Handlers m_handlers;
    std::shared_ptr<Try> m_try;
    std::future<void> m_asked;
    EventLoop::Token m_timer = 0;
    int m_failures = 0;
    bool m_givenUp = false, m_saidWaits = false;
};

} // namespace lockstep::agent
