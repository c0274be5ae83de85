// SPDX-License-Identifier: MIT
#pragma once
// What the tests of the queue share: lockstepctl as a process, experiments of fake ranks in the background.
#include <nlohmann/json.hpp>
#include <QProcess>

#include "core_support.h"
#include "experiment/experiment.h"
#include "ipc/unix_socket.h"
#include "queue/queue_request.h"
#include "tests/qt_test.h"

namespace lockstep::test {

using namespace lockstep::core;

inline const QString bin = QStringLiteral(LOCKSTEP_BIN);

struct Answer {
    int code = -1;
    QByteArray out, err;
};

inline Answer ctl(const QStringList &arguments, int limitMs = 60'000, const QByteArray &input = {}) {
    QProcess process;
    process.start(bin + QStringLiteral("/lockstepctl"), arguments);
    process.write(input);
    process.closeWriteChannel();
    if (!process.waitForFinished(limitMs)) {
        process.kill();
        process.waitForFinished();
        return {-1, process.readAllStandardOutput(), "timed out"};
    }
    return {process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError()};
}

/// An experiment on the disk with one run, in this state.
inline Experiment ofOneRun(EntryState state) {
    Experiment experiment;
    experiment.id = makeRunId();
    experiment.title = "one";
    experiment.recipe = loadRecipe("lenet-dp-vs-ddp").value_or(Recipe{});
    experiment.entries.resize(1);
    experiment.entries[0].planned.name = "a";
    experiment.entries[0].state = state;
    (void)writeExperiment(experiment);
    return experiment;
}

/// One short run a method on the cores there are.
inline const QStringList quickRun = {QStringLiteral("run"), QStringLiteral("lenet-dp-vs-ddp"),
                                     QStringLiteral("--quick"), QStringLiteral("--repeats"), QStringLiteral("1")};

struct Detached {
    std::string experiment;
    pid_t owner = 0;
};
inline const QStringList detach = {QStringLiteral("--detach"), QStringLiteral("--json")};
/// What a `run` with these options has started.
inline Detached startedBy(const Answer &answer) {
    const auto json = nlohmann::json::parse(answer.out.toStdString(), nullptr, false);
    if (answer.code != 0 || !json.is_object()) {
        qWarning("%s", answer.err.constData());
        return {};
    }
    return {json["experiment"], json["pid"].get<pid_t>()};
}
inline Detached startDetached(const QStringList &extra = {}) {
    return startedBy(ctl(quickRun + detach + extra));
}
inline Detached startRecipe(const QByteArray &recipe, const QStringList &extra = {}) {
    return startedBy(ctl(QStringList{QStringLiteral("run"), QStringLiteral("-")} + detach + extra, 60'000, recipe));
}

/// A run of a recipe, as JSON: a script that ends once its file is there, and that a request to stop does not end before.
class HeldRun {
public:
    [[nodiscard]] QByteArray json() const {
        return R"({"name":"held","method":"baseline","devices":1,"command":
                  ["sh","-c","trap '' TERM; until [ -e )" +
               file().toUtf8() + R"( ]; do sleep 0.05; done"]})";
    }
    void release() const { write(file().toStdString(), ""); }

private:
    [[nodiscard]] QString file() const { return m_folder.filePath(QStringLiteral("released")); }
    QTemporaryDir m_folder;
};

inline bool runsAreOver(const std::string &id) {
    const Experiment experiment = readExperiment(id).value_or(Experiment{});
    return std::none_of(experiment.entries.begin(), experiment.entries.end(), [](const ExperimentEntry &entry) {
        return !entry.run.empty() && FileLock::isHeld(runFolder(entry.run).lock(0));
    });
}

inline Experiment read(const std::string &id) {
    return readExperiment(id).value_or(Experiment{});
}

/// Skips the whole test where the programs are not built; sets the environment they are found by.
inline bool useFakeRanks() {
    for (const char *name : {"lockstepctl", "lockstep-agent", "fake_rank"})
        if (!QFile::exists(bin + u'/' + QString::fromLatin1(name)))
            return false;
    qputenv("LOCKSTEP_TRAINER", (bin + QStringLiteral("/fake_rank")).toUtf8());
    qputenv("LOCKSTEP_AGENT", (bin + QStringLiteral("/lockstep-agent")).toUtf8());
    qunsetenv("LOCKSTEP_SSH_OPTIONS");
    return true;
}

/// Stops what a test has left running; agents write into the home until they are gone.
inline void endAll() {
    for (const std::string &id : listExperiments())
        (void)stopExperiment(id, "the test");
    for (const std::string &id : listExperiments())
        QTRY_VERIFY(!isOwned(id) && runsAreOver(id));
}

/// Why a test is skipped where useFakeRanks() is false.
inline QByteArray withoutFakeRanks() {
    return QStringLiteral("lockstepctl, lockstep-agent or fake_rank is not built in %1").arg(bin).toUtf8();
}

/// A home whose runs are fake ranks that behave as FAKE_RANK says. At the end nothing of them is running.
class FakeRankHome {
public:
    explicit FakeRankHome(const char *behaviour) { qputenv("FAKE_RANK", behaviour); }
    ~FakeRankHome() { endAll(); }
    FakeRankHome(const FakeRankHome &) = delete;
    FakeRankHome &operator=(const FakeRankHome &) = delete;
    [[nodiscard]] std::string path() const { return m_home.path(); }

private:
    Home m_home;
};

} // namespace lockstep::test
