// SPDX-License-Identifier: MIT
#include "trainer/agent/listen/listened_run.h"

#include <algorithm>
#include <utility>

#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "ipc/placement.h"
#include "ipc/run_title.h"
#include "ipc/sound_values.h"
#include "trainer/agent/devices/machine.h"

namespace lockstep::agent {

namespace {
/// If the number of ranks is unknown: a further rank may still come this long after the last known one ended.
constexpr std::int64_t lateNs = 3'000'000'000;
constexpr std::int64_t recordEveryNs = 1'000'000'000;

/// A lockstep-trainer reports its whole configuration. What a script reports may not be enough to make one; of one that is
/// made, keysSaidIn() says what was reported.
std::optional<RunConfig> configFrom(const About &about) {
    if (!about.contains("method") || !about.contains("model") || !about.contains("batch_size"))
        return std::nullopt;
    RunConfig config;
    for (const auto &[key, value] : about)
        if (const FieldSpec *field = findField(key); !field || field->perProcess || !field->set(config, value))
            return std::nullopt;
    return config;
}

/// A lockstep-trainer says all its settings, but those that are empty; then this is absent.
std::optional<std::vector<std::string>> keysSaidIn(const About &about) {
    const RunConfig defaults;
    std::vector<std::string> said;
    bool all = true;
    for (const FieldSpec &field : runConfigFields()) {
        if (field.perProcess)
            continue;
        if (about.contains(field.key))
            said.emplace_back(field.key);
        else
            all = all && field.get(defaults).empty();
    }
    return all ? std::nullopt : std::optional(std::move(said));
}

std::string titleFrom(const About &about, int worldSize) {
    const auto method = about.find("method");
    if (method == about.end())
        return "reported run";
    if (const MethodSpec *known = findMethod(method->second))
        return titleOf(*known, worldSize);
    std::string name = method->second.substr(0, 40);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return char(::toupper(c)); });
    return titleOn(name, worldSize);
}

/// As far as the record keeps it.
About shortened(const About &about) {
    About out;
    for (const auto &[key, value] : about)
        out.emplace(key.substr(0, longestReportedName), value.substr(0, longestReportedName));
    return out;
}

void takeAbout(const About &about, const std::string &name, RunRecord &record) {
    record.config = configFrom(about);
    record.about = record.config ? About() : shortened(about);
    record.claims.known = keysSaidIn(about);
    record.name = name.empty() ? titleFrom(about, record.processes) : name;
}

/// Each node names its own. Only for a record that is written: ranks may change their number with each frame, and this costs a name for
/// each of them.
void takeDevices(RunRecord &record) {
    if (record.config)
        takeDevicesOfAll(*record.config, record.processes);
}

/// 0: it says none that can be.
int worldSizeIn(const StateFrame &init, int rank) {
    const int size = init.worldSize.value_or(0);
    return size > rank && size <= mostListenedRanks ? size : 0;
}

RunRecord recordFrom(const Frame &first, const ListenedRun::Options &options) {
    const auto *state = std::get_if<StateFrame>(&first.body);
    const int rank = first.rank.value_or(0);
    RunRecord record;
    record.processes = std::max({1, options.worldSize, state ? worldSizeIn(*state, rank) : 0, rank + 1});
    takeAbout(state ? state->about : About(), options.name, record);
    takeDevices(record);
    record.files = options.files;
    return record;
}
} // namespace

Result<std::unique_ptr<ListenedRun>> ListenedRun::open(EventLoop &loop, const Clock &clock, Options options,
                                                       Handlers handlers, const Frame &first) {
    const RunBegin begin(clock.monoNs()); // making the folder takes a while
    RunRecord record = recordFrom(first, options);
    auto folder = NewRunFolder::create(record);
    if (!folder)
        return fail(folder.error());
    if (options.fromFiles())
        record.startWallUs = first.wallUs; // the run may have begun long ago
    std::unique_ptr<ListenedRun> run(new ListenedRun(loop, clock, std::move(options), std::move(handlers),
                                                     std::move(record), std::move(*folder), begin));
    run->m_firstWallUs = run->m_lastWallUs = first.wallUs;
    run->m_recordChanged = run->m_options.fromFiles(); // when it began
    if (auto opened = run->openLog(); !opened)
        return fail(opened.error());
    run->openIntake();
    run->m_journal->state(RunState::Init, run->m_record.name);
    return run;
}

ListenedRun::ListenedRun(EventLoop &loop, const Clock &clock, Options options, Handlers handlers, RunRecord record,
                         NewRunFolder folder, RunBegin begin)
    : m_loop(loop), m_clock(clock), m_options(std::move(options)), m_handlers(std::move(handlers)),
      m_record(std::move(record)), m_folder(std::move(folder)), m_worldSize(m_options.worldSize),
      m_files(m_record.files.value_or(RecordedFiles())), m_begin(std::move(begin)) {}

Result<void> ListenedRun::openLog() {
    // What connections send has no end. Files lie on a disk already, and are recorded as long as there is room.
    const std::string spare = m_options.fromFiles() ? std::string() : folder().path;
    auto journal = RunJournal::open(realFileSystem(), m_clock, folder().log(0), 0, id(), hostName(), spare);
    if (!journal)
        return fail(journal.error());
    m_journal = std::move(*journal);
    m_disk.emplace(*m_journal, m_folder);
    if (!m_options.fromFiles())
        m_watch.emplace(m_clock, *m_journal, m_record);
    auto socket = RunSocket::bindForRun(m_loop, *m_journal, id(), 0);
    if (!socket)
        return fail(socket.error());
    m_socket = std::move(*socket);
    RunSocket::Handlers handlers; // this run's ranks connect to FrameListener
    handlers.onRankLine = [](int, std::string_view) {};
    handlers.onRankCut = [](int, const Error &) {};
    handlers.onRefused = [this](const std::string &message) { alert("connection_refused", message); };
    handlers.onControl = [this](const Control &control) { onControl(control); };
    m_socket->open(std::move(handlers), {});
    return {};
}

void ListenedRun::openIntake() {
    std::set<int> ranks;
    for (; m_intakeRanks < m_record.processes; ++m_intakeRanks)
        ranks.insert(m_intakeRanks);
    FrameIntake::Handlers handlers;
    // The devices are not on this node.
    handlers.deviceUse = [](std::int64_t, std::int64_t) { return std::vector<DeviceEpochUse>(); };
    handlers.onTrainerLog = [this](int rank, std::string_view text) {
        auto &console = m_ranks[rank].console;
        if (!console)
            console = m_journal->disk().openText(folder().console(rank), false);
        m_journal->disk().write(console, std::string(text) + "\n");
    };
    handlers.onAllTraining = [this] { m_journal->state(RunState::Training); };
    handlers.scripted = isScript(m_record);
    handlers.onState = [this](int rank, const StateFrame &state) { onState(rank, state); };
    if (m_watch)
        handlers.onFrame = [this](int rank, const Frame &frame) {
            m_begin.take(rank, frame.monoNs, m_lastLineNs);
            m_watch->take(rank, frame);
        };
    m_intake = std::make_unique<FrameIntake>(m_clock, *m_journal, folder(), std::move(ranks), std::move(handlers));
}

void ListenedRun::onControl(const Control &control) {
    const auto reached = m_handlers.sendControl(control);
    m_journal->note(reached.empty() ? "warning" : "info", control.command + ", asked by " +
                                                              (control.by.empty() ? "a viewer" : control.by) +
                                                              ", reached " + std::to_string(reached.size()) + " ranks");
}

// --- its ranks ---------------------------------------------------------------------------------------------------

void ListenedRun::startOver(int rank) {
    const bool first = m_intake->startOver(rank);
    if (first)
        alertAndLog(*m_journal, ranksRestarted, startedAgainInWords(rank), rank);
    m_begin.startOver(rank);
    m_ranks[rank].final.reset();
    m_ended.erase(rank);
    if (m_watch)
        m_watch->startOver(rank, first);
}

void ListenedRun::takeLine(int rank, std::string_view line) {
    expect(rank);
    m_lastLineNs = m_clock.monoNs();
    m_intake->takeLine(rank, line);
}

void ListenedRun::extendTo(std::int64_t wallUs) {
    m_firstWallUs = std::min(m_firstWallUs, wallUs);
    m_lastWallUs = std::max(m_lastWallUs, wallUs);
}

void ListenedRun::onState(int rank, const StateFrame &state) {
    Rank &known = m_ranks[rank];
    if (!state.host.empty())
        takeName(rank, known.host, state.host);
    if (state.state == RunState::Init || (!state.about.empty() && !m_record.config))
        describe(state, rank);
    if (isFinal(state.state)) {
        known.final = state.state;
        m_ended.insert(rank);
    }
    if (state.state == RunState::Failed && m_failure.empty() && takesPart(rank))
        m_failure = "rank " + std::to_string(rank) + (known.host.empty() ? "" : " on " + known.host) + " failed" +
                    (state.detail.empty() ? "" : ": " + state.detail);
}

/// Ranks that are started again may be fewer, or more.
void ListenedRun::takeWorldSize(const StateFrame &init, int rank) {
    const int size = worldSizeIn(init, rank);
    if (m_options.worldSize > 0 || size == 0 || size == m_worldSize)
        return;
    m_worldSize = size;
    for (; m_intakeRanks < size; ++m_intakeRanks)
        m_intake->addRank(m_intakeRanks);
    if (size != m_record.processes) {
        m_record.processes = size;
        m_about.clear();
        m_record.config.reset();
    }
    const auto first = m_ranks.lower_bound(size);
    if (first == m_ranks.end())
        return;
    alert("ranks_fewer", "rank " + std::to_string(rank) + " is now one of " + std::to_string(size) +
                             (size == 1 ? " rank" : " ranks") + ": what rank " + std::to_string(first->first) +
                             " and any above it reported is of an earlier start");
    for (auto rest = first; rest != m_ranks.end(); ++rest)
        m_names.leave(rest->second.host);
    m_ranks.erase(first, m_ranks.end());
    m_ended.erase(m_ended.lower_bound(size), m_ended.end());
    for (; int(m_record.deviceNames.size()) > size; m_record.deviceNames.pop_back())
        m_names.leave(m_record.deviceNames.back());
}

/// Puts a name that the rank reports in place of `kept`, if there is room.
void ListenedRun::takeName(int rank, std::string &kept, const std::string &name) {
    if (m_names.put(kept, name) || std::exchange(m_namesLeftOut, true))
        return;
    alert("record_unwritten", "the hosts and devices that ranks report have more than " +
                                  std::to_string(NameRoom::mostBytes >> 10) +
                                  " KiB: some are left out, first one of rank " + std::to_string(rank));
}

/// The first frame of a rank may say nothing of the run, such as a line that it logs before it begins.
void ListenedRun::takeWords(const About &about) {
    takeNew(m_about, about, mostWords);
    takeAbout(m_about, m_options.name, m_record);
    m_intake->setScripted(isScript(m_record));
    if (m_watch)
        m_watch->setRecord(m_record);
}

/// Writes what a rank reports about itself into the run's record, as the agent does for runs that it starts.
void ListenedRun::describe(const StateFrame &state, int rank) {
    takeWorldSize(state, rank);
    if (!m_record.config)
        takeWords(state.about);
    if (!state.device.empty()) {
        m_record.deviceNames.resize(std::max<std::size_t>(m_record.deviceNames.size(), std::size_t(rank) + 1));
        takeName(rank, m_record.deviceNames[std::size_t(rank)], state.device);
    }
    const std::string host = state.host.empty() ? std::string() : m_ranks[rank].host;
    const std::size_t mostMachines = std::min(m_ranks.size(), std::size_t(mostNodes)); // more could not be read again
    if (const auto known = m_hosts.find(host); known != m_hosts.end()) {
        known->second = std::min(known->second, rank);
    } else if (!host.empty() && m_record.machines.size() < mostMachines) {
        m_hosts.emplace(host, rank);
        MachineRecord machine; // nothing more is known about the machine
        takeName(rank, machine.host, host);
        if (!machine.host.empty())
            m_record.machines.push_back(std::move(machine));
    }
    m_recordChanged = true;
    writeRecord();
}

/// Ranks may come in any order; the first machine is that of the lowest one.
void ListenedRun::orderMachines() {
    std::ranges::sort(m_record.machines, {}, [this](const MachineRecord &machine) { return m_hosts.at(machine.host); });
    int node = 0;
    for (MachineRecord &machine : m_record.machines)
        machine.node = node++;
}

void ListenedRun::recordFiles(RecordedFiles files) {
    m_files = std::move(files);
    if (m_record.files && m_record.files->begin == m_files.begin)
        return;
    m_record.files = RecordedFiles{m_files.begin, 0};
    m_recordChanged = true;
}

/// Not for each of many ranks that begin at once; what is left is written by everySecond().
void ListenedRun::writeRecord() {
    if (!m_recordChanged || (m_recordNs != 0 && m_clock.monoNs() - m_recordNs < recordEveryNs && !over()))
        return;
    m_recordChanged = false;
    m_recordNs = m_clock.monoNs();
    takeDevices(m_record);
    orderMachines();
    (void)m_journal->disk().run([path = folder().config(), text = toJson(m_record)] {
        if (const auto written = realFileSystem().writeAtomically(path, text); !written)
            logWarning("the run's record can't be written: " + written.error().message());
    });
}

void ListenedRun::onRankGone(int rank) {
    if (over())
        return;
    if (!m_ranks[rank].final)
        alert("rank_gone",
              "the connection of rank " + std::to_string(rank) +
                  " closed before its end was reported; the rank may reconnect",
              rank);
    checkOver();
}

// --- its end -----------------------------------------------------------------------------------------------------

void ListenedRun::everySecond() {
    m_journal->append(HeartbeatFrame{});
    m_journal->requestSync();
    m_socket->rebindIfLost();
    m_disk->check();
    writeRecord();
    checkHang();
    if (!m_disk->folderGone())
        return checkOver();
    m_outcome = RunState::Failed;
    m_ending = {exitFailed, "the run's folder " + folder().path + " was removed while it went on"};
    m_handlers.onServed(); // no log is left to serve
}

void ListenedRun::checkHang() {
    const auto processOf = [](int) { return std::string(); }; // it may be on another machine
    if (m_watch && m_watch->hangBegins(m_record.processes, processOf))
        onControl({"stacks", "the watch over hangs"});
}

void ListenedRun::checkOver() {
    const std::size_t meant = worldSize() > 0 ? std::size_t(worldSize()) : m_ranks.size();
    if (over() || m_ranks.empty() || m_ended.size() < meant) // asked at each line: no look at all ranks
        return;
    int ended = 0;
    bool failed = false, stopped = false;
    for (const auto &[rank, known] : m_ranks) {
        if (!takesPart(rank))
            continue;
        ended += known.final ? 1 : 0;
        failed = failed || known.final == RunState::Failed;
        stopped = stopped || known.final == RunState::Stopped;
    }
    const bool all = worldSize() > 0 ? ended >= worldSize()
                                     : ended == int(m_ranks.size()) && m_clock.monoNs() - m_lastLineNs > lateNs;
    if (!all)
        return;
    if (failed)
        end(RunState::Failed, m_failure);
    else if (stopped)
        end(RunState::Stopped, "stopped");
    else
        end(RunState::Done, "");
}

void ListenedRun::end(RunState state, const std::string &reason) {
    if (over())
        return;
    m_outcome = state;
    m_ending = {state == RunState::Done ? exitDone : state == RunState::Stopped ? exitStopped : exitFailed, reason};
    m_journal->state(state, reason);
    if (m_record.files)
        m_record.files = m_files;
    setTimes();
    m_recordChanged = true;
    writeRecord();
    m_result.emplace(m_loop, *m_journal, m_folder);
    m_result->write([this](const std::string &) { return result(); },
                    {[this](const std::string &sentence) { m_handlers.onNote(sentence + "; Ctrl-C gives it up"); },
                     [this](const Result<void> &written) {
                         if (!written) {
                             m_handlers.onNote("the result could not be written: " + written.error().message());
                             if (m_ending.exitCode == exitDone)
                                 m_ending.exitCode = exitFailed;
                         }
                         m_socket->finish(m_handlers.onServed);
                     }});
}

/// From the first frame to the last one: of files, by the clocks of those who made them.
void ListenedRun::setTimes() {
    if (!m_options.fromFiles()) {
        m_lastWallUs = m_clock.wallUs() - (m_clock.monoNs() - m_lastLineNs) / 1000;
        m_firstWallUs = m_lastWallUs - (m_lastLineNs - m_begin.ns()) / 1000;
    }
    m_record.startWallUs = m_firstWallUs;
    m_spanS = double(m_lastWallUs - m_firstWallUs) * 1e-6;
    if (!isDuration(m_spanS)) // clocks of others, centuries apart
        m_spanS = 0;
}

void ListenedRun::giveUpResult() {
    m_result->giveUp();
}

RunResult ListenedRun::result() const {
    RunResult result;
    result.run = id();
    result.state = *m_outcome;
    result.exitCode = m_ending.exitCode;
    result.reason = m_ending.reason;
    result.startWallUs = m_record.startWallUs;
    result.endWallUs = m_lastWallUs;
    result.runTimeS = m_spanS;
    for (const auto &[rank, known] : m_ranks) {
        if (!takesPart(rank))
            continue;
        RankExit exit; // how the rank's process ended is not known here
        exit.rank = rank;
        exit.host = known.host;
        result.ranks.push_back(std::move(exit));
    }
    result.warnings = m_disk->warnings();
    m_intake->reported().addTo(result, m_record);
    result.logLines = m_journal->nextSeq();
    return result;
}

void ListenedRun::alert(AlertName name, const std::string &message, std::optional<int> rank) {
    m_journal->alert(name, message, rank);
}

} // namespace lockstep::agent
