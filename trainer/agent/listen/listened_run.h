// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "ipc/clock.h"
#include "ipc/messages.h"
#include "trainer/agent/listen/name_room.h"
#include "trainer/agent/listen/run_begin.h"
#include "trainer/agent/log/disk_watch.h"
#include "trainer/agent/log/frame_intake.h"
#include "trainer/agent/log/new_run_folder.h"
#include "trainer/agent/log/run_journal.h"
#include "trainer/agent/log/run_socket.h"
#include "trainer/agent/net/event_loop.h"
#include "trainer/agent/session/rank_watch.h"
#include "trainer/agent/session/result_writer.h"

namespace lockstep::agent {

inline constexpr int mostListenedRanks = 65536;

/// How a run that somebody else started ended.
struct ListenEnding {
    int exitCode = 1;
    std::string reason;
};

/// A run that somebody else started, from its first frame on: its folder, log, socket and result, and its ranks as far
/// as they report. Ranks may connect late, leave and connect again. All calls on the loop's thread.
///   Running → (every rank has reported its end, or end() is called) Over → followers have everything: onServed
class ListenedRun {
public:
    struct Options {
        std::string name;  ///< empty: made from what the ranks report
        int worldSize = 0; ///< 0: the number that a rank reported last
        /// What recognises the files that the frames come from; they may be old: times are taken from them. In the
        /// record from the start.
        std::optional<RecordedFiles> files = {};
        [[nodiscard]] bool fromFiles() const { return files.has_value(); }
    };
    struct Handlers {
        std::function<std::set<int>(const Control &control)> sendControl; ///< returns the ranks that it reached
        std::function<void(const std::string &sentence)> onNote;          ///< for stderr
        std::function<void()> onServed;
    };
    static Result<std::unique_ptr<ListenedRun>> open(EventLoop &loop, const Clock &clock, Options options,
                                                     Handlers handlers, const Frame &first);

    [[nodiscard]] const std::string &id() const { return m_record.run; }
    [[nodiscard]] const RunFolder &folder() const { return m_folder.folder(); }
    [[nodiscard]] int worldSize() const { return m_worldSize; } ///< 0: unknown
    /// Whether the rank is one of the newest start; a process of an earlier one may still report.
    [[nodiscard]] bool takesPart(int rank) const { return m_worldSize == 0 || rank < m_worldSize; }
    [[nodiscard]] bool over() const { return m_outcome.has_value(); }
    [[nodiscard]] const ListenEnding &ending() const { return m_ending; } ///< once over
    void giveUpResult(); ///< once over: if the result can't be written, it is not tried again
    [[nodiscard]] std::int64_t lastLineNs() const { return m_lastLineNs; }

    void expect(int rank) { m_ranks.try_emplace(rank); } ///< the rank has connected, so the run waits for its end
    void startOver(int rank);                            ///< another process is this rank now
    [[nodiscard]] std::uint64_t nextRseq(int rank) const { return m_intake->nextRseq(rank); }
    void takeLine(int rank, std::string_view line);
    void extendTo(std::int64_t wallUs); ///< the run was still going on at that time
    /// The files that its frames come from; it has taken as many bytes of them.
    void recordFiles(RecordedFiles files);
    void onRankCut(int rank, const Error &why) { m_intake->onRankCut(rank, why); }
    void onRankGone(int rank);

    void alert(AlertName name, const std::string &message, std::optional<int> rank = {});
    void note(const std::string &message) { m_journal->note("info", message); }
    void everySecond();
    void pump() { m_socket->pump(); } ///< call after each batch of the loop
    void checkOver();                 ///< ends the run if all its ranks have reported their ends
    void end(RunState state, const std::string &reason);

private:
    struct Rank {
        std::string host;
        std::shared_ptr<LogDisk::Text> console; ///< once it has logged something
        std::optional<RunState> final;
    };
    ListenedRun(EventLoop &loop, const Clock &clock, Options options, Handlers handlers, RunRecord record,
                NewRunFolder folder, RunBegin begin);
    Result<void> openLog();
    void openIntake();
    void onControl(const Control &control);
    void onState(int rank, const StateFrame &state);
    void describe(const StateFrame &state, int rank);
    void takeWorldSize(const StateFrame &init, int rank);
    void takeWords(const About &about);
    void takeName(int rank, std::string &kept, const std::string &name);
    void orderMachines();
    void writeRecord();
    void setTimes();
    void checkHang();
    [[nodiscard]] RunResult result() const;

    EventLoop &m_loop;
    const Clock &m_clock;
    Options m_options;
    Handlers m_handlers;
    RunRecord m_record;
    NewRunFolder m_folder;
    int m_worldSize = 0;
    RecordedFiles m_files; ///< as they are now; the record says how many bytes once the run is over
    std::unique_ptr<RunJournal> m_journal;
    std::optional<DiskWatch> m_disk;      ///< from open() on
    std::optional<RankWatch> m_watch;     ///< from open() on, unless frames may be old
    std::optional<ResultWriter> m_result; ///< once over
    std::unique_ptr<RunSocket> m_socket;
    std::unique_ptr<FrameIntake> m_intake;
    int m_intakeRanks = 0; ///< that it knows; of ranks that are fewer now, those before as well
    std::map<int, Rank> m_ranks;
    std::set<int> m_ended;              ///< those with a final state
    std::map<std::string, int> m_hosts; ///< of the record's machines, with the lowest rank of each
    NameRoom m_names;                   ///< for all hosts and devices of the record and the result
    bool m_namesLeftOut = false;        ///< that was reported
    About m_about;    ///< what ranks say of the run since their number last changed, the first of each word
    RunBegin m_begin; ///< of frames as they arrive
    std::int64_t m_lastLineNs = 0;
    std::int64_t m_firstWallUs = 0, m_lastWallUs = 0; ///< of frames from files
    double m_spanS = 0;                               ///< once over
    bool m_recordChanged = false;                     ///< config.json lacks something
    std::int64_t m_recordNs = 0;                      ///< when it was written last
    std::string m_failure;                            ///< of the first rank that failed
    std::optional<RunState> m_outcome;
    ListenEnding m_ending;
};

} // namespace lockstep::agent
