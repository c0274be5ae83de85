// SPDX-License-Identifier: MIT
// The lab's job and the forecast's probes with the real agent and trainer: they start, report their progress, stop, and say so
// when a rank breaks. Sizes are small, so that each takes seconds.
#include <csignal>
#include <set>

#include <QSignalSpy>

#include "base/machine_facts.h"
#include "core_queue_support.h"
#include "lab/lab_job.h"
#include "lab/probe_job.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

/// The trainer with words of ours added, or broken on purpose: a script that LOCKSTEP_TRAINER names for its life.
class Shim {
public:
    explicit Shim(const QString &before, const QString &more = {}) {
        const QString path = m_folder.filePath(QStringLiteral("lockstep-trainer"));
        QFile file(path);
        if (!file.open(QIODevice::WriteOnly))
            qFatal("%s can't be written", qPrintable(path));
        file.write(QStringLiteral("#!/bin/sh\necho $$ >> '%1/pids'\n%2\nexec '%3/lockstep-trainer' \"$@\" %4\n")
                       .arg(m_folder.path(), before, bin, more)
                       .toUtf8());
        file.close();
        file.setPermissions(file.permissions() | QFileDevice::ExeOwner);
        qputenv("LOCKSTEP_TRAINER", path.toUtf8());
    }
    ~Shim() { qunsetenv("LOCKSTEP_TRAINER"); }
    [[nodiscard]] QList<pid_t> pids() const {
        QList<pid_t> out;
        QFile file(m_folder.filePath(QStringLiteral("pids")));
        if (file.open(QIODevice::ReadOnly))
            for (const QByteArray &line : file.readAll().split('\n'))
                if (const int pid = line.toInt(); pid > 1)
                    out.append(pid);
        return out;
    }
    [[nodiscard]] bool anyAlive() const {
        return std::ranges::any_of(pids(), [](pid_t pid) { return ::kill(pid, 0) == 0; });
    }

private:
    QTemporaryDir m_folder;
};

/// An agent that starts nothing, says `words` for its rank 0 and then stays until it is told to stop: LOCKSTEP_AGENT for its life.
class TalkingAgent {
public:
    explicit TalkingAgent(const QString &words) {
        const QString path = m_folder.filePath(QStringLiteral("lockstep-agent"));
        QFile file(path);
        if (!file.open(QIODevice::WriteOnly))
            qFatal("%s can't be written", qPrintable(path));
        file.write("#!/bin/sh\nread -r request\n"
                   "echo '{\"type\":\"ready\",\"run\":\"20260101T000000Z-0123abcd\",\"socket\":\"\",\"pid\":1}'\n" +
                   words.toUtf8() + "\nexec cat > /dev/null\n");
        file.close();
        file.setPermissions(file.permissions() | QFileDevice::ExeOwner);
        m_before = qgetenv("LOCKSTEP_AGENT");
        qputenv("LOCKSTEP_AGENT", path.toUtf8());
    }
    ~TalkingAgent() { qputenv("LOCKSTEP_AGENT", m_before); }

private:
    QTemporaryDir m_folder;
    QByteArray m_before;
};

/// Some seconds, with a word of progress every few hundredths of one.
const QString someSizes = QStringLiteral("--sizes 4,16,64,256,1024,4096,16384,65536,262144,1048576 --held-out 8192");
const QString fewSizes = QStringLiteral("--sizes 4,4096,65536 --held-out 8192 --collectives send_recv,all_reduce");

LabRequest twoRanks() {
    LabRequest request;
    request.ranks = {2};
    request.quick = true;
    return request;
}

/// Of 200 steps an epoch, unless there are fewer samples.
std::vector<ProbeRequest> probesOf(std::int64_t samples) {
    ForecastInput input;
    input.config.trainSamples = samples;
    input.runs = runsOf({{Method::Ddp}}, {2});
    input.devicesHere = 2;
    return probesFor(input);
}

std::vector<ProbeRequest> shortProbes() {
    return probesOf(640);
}

bool noRunIsLeft() {
    const QDir runs(QString::fromStdString(runsFolder()));
    return !runs.exists() || runs.isEmpty();
}

} // namespace

class CoreJobsTest : public QObject {
    Q_OBJECT
    std::unique_ptr<Home> m_home;

private Q_SLOTS:
    void initTestCase() {
        for (const char *name : {"lockstep-agent", "lockstep-trainer"})
            if (!QFile::exists(bin + u'/' + QString::fromLatin1(name)))
                QSKIP(qPrintable(QString::fromLatin1(name) + QStringLiteral(" is not built in ") + bin));
        if (localMachineFacts().allowedCores.size() < 2)
            QSKIP("two ranks need two cores");
        qputenv("LOCKSTEP_AGENT", (bin + QStringLiteral("/lockstep-agent")).toUtf8());
    }
    void init() { m_home = std::make_unique<Home>(); }
    void cleanup() { m_home.reset(); }

    void aLabShowsHowFarItIsKeepsWhatItMeasuredAndLeavesNoRun() {
        const Shim shim({}, fewSizes);
        LabJob job;
        QSignalSpy progressed(&job, &LabJob::progressed), finished(&job, &LabJob::finished),
            failed(&job, &LabJob::failed);
        const auto started = job.start(twoRanks());
        QVERIFY2(started.has_value(), started ? "" : started.error().message().c_str());
        QVERIFY(runningLab().has_value());
        QTRY_VERIFY(finished.count() + failed.count() > 0);
        QVERIFY2(failed.isEmpty(), failed.isEmpty() ? "" : failed[0][0].value<Error>().message().c_str());
        double before = 0;
        for (const QList<QVariant> &reported : progressed) {
            const double now = reported[0].value<LabProgress>().fraction;
            QVERIFY(now >= before && now <= 1);
            before = now;
        }
        QVERIFY(before > 0.5);
        const auto kept = readLab(job.record().id);
        QVERIFY2(kept.has_value(), kept ? "" : kept.error().message().c_str());
        std::set<std::string> what;
        for (const LabRow &row : kept->rows) {
            what.insert(row.collective);
            QCOMPARE(row.ranks, 2);
            QVERIFY(row.sweeps == 5 && row.medianS > 0 && row.medianS < 1);
        }
        QCOMPARE(what, (std::set<std::string>{"all_reduce", "send_recv"}));
        QVERIFY(!runningLab().has_value());
        QVERIFY(noRunIsLeft());
        QVERIFY(!shim.anyAlive());
    }

    void aSecondLabIsRefusedWhileOneMeasuresAndTheFirstStopsWhenAsked() {
        const Shim shim({}, someSizes);
        LabJob job;
        QSignalSpy progressed(&job, &LabJob::progressed), failed(&job, &LabJob::failed);
        QVERIFY(job.start(twoRanks()).has_value());
        QTRY_VERIFY(progressed.count() >= 3);
        LabJob second;
        const auto refused = second.start(twoRanks());
        QVERIFY(!refused.has_value());
        QVERIFY2(refused.error().message().find("another lab measures this machine already") != std::string::npos,
                 refused.error().message().c_str());
        QCOMPARE(runningLab()->what, progressed.back()[0].value<LabProgress>().what);
        QVERIFY(stopRunningLab().has_value()); // as a viewer asks
        QTRY_COMPARE(failed.count(), 1);
        QVERIFY(job.wasStopped());
        QVERIFY2(failed[0][0].value<Error>().message().find("the lab was stopped") != std::string::npos,
                 failed[0][0].value<Error>().message().c_str());
        QVERIFY(listLabs().empty());
        QVERIFY(noRunIsLeft());
        QTRY_VERIFY(!shim.anyAlive());
        const Shim quick({}, fewSizes); // the machine is free again
        LabJob third;
        QSignalSpy finished(&third, &LabJob::finished);
        QVERIFY(third.start(twoRanks()).has_value());
        QVERIFY(finished.wait(test::hangLimitMs));
    }

    void aRankThatBreaksEndsTheLabWithAWordAndKeepsNothing() {
        const Shim shim(QStringLiteral("[ \"$RANK\" = 1 ] && kill -SEGV $$"), fewSizes);
        LabJob job;
        QSignalSpy failed(&job, &LabJob::failed);
        QVERIFY(job.start(twoRanks()).has_value());
        QTRY_COMPARE(failed.count(), 1);
        const std::string said = failed[0][0].value<Error>().message();
        QVERIFY2(said.find("the lab with 2 ranks failed") != std::string::npos, said.c_str());
        QVERIFY2(said.find("rank 1") != std::string::npos, said.c_str());
        QVERIFY(!job.wasStopped());
        QVERIFY(listLabs().empty());
        QVERIFY(!runningLab().has_value());
        QVERIFY(noRunIsLeft());
        QTRY_VERIFY(!shim.anyAlive());
    }

    void aLabWhoseRankSaysMoreThanALabHasToSayIsEnded() {
        const TalkingAgent agent(
            QStringLiteral("i=0; while [ $i -lt 700 ]; do i=$((i+1)); echo '[rank 0] "
                           "{\"type\":\"not_offered\",\"collective\":\"x\",\"ranks\":2,\"reason\":\"why\"}'; done"));
        LabJob job;
        QSignalSpy failed(&job, &LabJob::failed);
        QVERIFY(job.start(twoRanks()).has_value());
        QTRY_COMPARE(failed.count(), 1);
        const std::string said = failed[0][0].value<Error>().message();
        QVERIFY2(said.find("more than any lab has to say") != std::string::npos, said.c_str());
        QCOMPARE(job.record().notOffered.size(), std::size_t(640));
        QVERIFY(listLabs().empty());
        QVERIFY(!runningLab().has_value());
    }

    void aProbeOnANodeThatSaysMoreThanAProbeHasToSayIsEnded() {
        const TalkingAgent agent(
            QStringLiteral("head -c 17000000 /dev/zero | tr '\\0' x | fold -w 100000 | sed 's/^/[rank 0] /'"));
        std::vector<ProbeRequest> probes = shortProbes();
        for (ProbeRequest &probe : probes)
            probe.config.nodes = nodesFromText(".:0,1").value();
        ProbeJob job;
        QSignalSpy failed(&job, &ProbeJob::failed);
        QVERIFY(job.start(probes).has_value());
        QTRY_COMPARE(failed.count(), 1);
        const std::string said = failed[0][0].value<Error>().message();
        QVERIFY2(said.find("more than any probe has to say") != std::string::npos, said.c_str());
    }

    void aJobThatGoesAwayTakesItsRanksWithIt() {
        const Shim shim({});
        {
            LabJob job;
            QVERIFY(job.start(twoRanks()).has_value());
            QTRY_VERIFY(shim.pids().size() == 2);
            QVERIFY(shim.anyAlive());
        }
        QTRY_VERIFY(!shim.anyAlive());
        QVERIFY(!runningLab().has_value());
    }

    void probesTrainAloneAndSideBySideAndLeaveNothing() {
        const Shim shim({});
        ProbeJob job;
        QStringList reported;
        connect(&job, &ProbeJob::progressed, this, [&](const QString &what) { reported.append(what); });
        QSignalSpy finished(&job, &ProbeJob::finished), failed(&job, &ProbeJob::failed);
        QVERIFY(job.start(shortProbes()).has_value());
        QTRY_VERIFY_WITH_TIMEOUT(finished.count() + failed.count() > 0, 90'000);
        QVERIFY2(failed.isEmpty(), failed.isEmpty() ? "" : failed[0][0].value<Error>().message().c_str());
        QCOMPARE(reported, (QStringList{QStringLiteral("one device alone, batch 64"),
                                        QStringLiteral("2 devices side by side, batch 32 each")}));
        QCOMPARE(job.probes().size(), std::size_t(2));
        for (const ComputeProbe &probe : job.probes())
            QVERIFY(probe.stepS > 0 && probe.stepS < 1 && probe.forwardS > 0 && probe.optimizerS > 0 &&
                    probe.backwardS > 0 && probe.forwardS + probe.backwardS + probe.optimizerS < probe.stepS);
        double parameters = 0;
        for (const double bytes : job.costs().parameterBytes)
            parameters += bytes;
        QCOMPARE(parameters, 4 * 61706.0); // LeNet's
        QCOMPARE(job.costs().layers.size(), std::size_t(5));
        for (const LayerCost &layer : job.costs().layers)
            parameters -= layer.parameterBytes;
        QCOMPARE(parameters, 0.0);
        QCOMPARE(job.costs().layers.back().outputBytesPerSample, 4 * 10.0); // its logits
        QCOMPARE(job.costs().trainSamples, 640);
        QVERIFY(noRunIsLeft());
    }

    void probesAreRanksOfNothingWhateverLauncherStartedThisProgram() {
        const Shim shim({});
        const std::pair<const char *, const char *> ofLaunchers[] = {
            {"RANK", "0"},         {"WORLD_SIZE", "2"},  {"SLURM_PROCID", "0"},
            {"SLURM_NTASKS", "2"}, {"MASTER_PORT", "1"}, {"MASTER_ADDR", "127.0.0.1"}};
        for (const auto &[name, value] : ofLaunchers)
            qputenv(name, value);
        ProbeJob job;
        QSignalSpy finished(&job, &ProbeJob::finished), failed(&job, &ProbeJob::failed);
        const bool started = job.start(shortProbes()).has_value();
        const bool ended = QTest::qWaitFor([&] { return finished.count() + failed.count() > 0; }, test::hangLimitMs);
        for (const auto &[name, value] : ofLaunchers)
            qunsetenv(name);
        QVERIFY(started && ended);
        QVERIFY2(failed.isEmpty(), failed.isEmpty() ? "" : failed[0][0].value<Error>().message().c_str());
        QVERIFY(job.probes().front().buckets.empty() && !job.probes().back().buckets.empty()); // DDP of one rank each
    }

    void aProbeThatBreaksSaysSoAndOneThatGoesAwayKillsItsTrainers() {
        {
            const Shim shim(QStringLiteral(
                "case \"$*\" in *'--devices 1'*|*'--devices=1'*) echo 'no such core' >&2; exit 2;; esac"));
            ProbeJob job;
            QSignalSpy failed(&job, &ProbeJob::failed);
            QVERIFY(job.start(shortProbes()).has_value());
            QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, 90'000);
            const Error error = failed[0][0].value<Error>();
            QVERIFY2(error.message().find("a probe failed: no such core") != std::string::npos,
                     error.message().c_str());
            QCOMPARE(job.probes().size(), std::size_t(1)); // the one alone was done
        }
        const Shim shim({});
        {
            ProbeJob job;
            QVERIFY(job.start(probesOf(0)).has_value());
            QTRY_VERIFY(shim.anyAlive());
        }
        QTRY_VERIFY(!shim.anyAlive());
    }
};

QTEST_GUILESS_MAIN(CoreJobsTest)
#include "jobs_test.moc"
