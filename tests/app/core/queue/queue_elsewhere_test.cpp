// SPDX-License-Identifier: MIT
// A queue that lives on another machine. The other machine is another data home here, behind a program called ssh that runs its
// words by a shell as sshd does and fails while the file "cut" is there; tests/e2e/away_test.py has real ones.
#include <QElapsedTimer>
#include <QSignalSpy>

#include <csignal>
#include <sys/resource.h>

#include "base/machine_facts.h"
#include "core_queue_support.h"
#include "follow/agent_control.h"
#include "follow/remote_copy.h"
#include "follow/run_follower.h"
#include "ipc/printable.h"
#include "launch/agent_launcher.h"
#include "nodes/known_places.h"
#include "nodes/node_book.h"
#include "queue/experiment_follower.h"
#include "queue/named_places.h"
#include "queue/owned_experiment.h"
#include "queue/queue_bridge.h"
#include "queue/queue_origin.h"
#include "queue/queue_places.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

namespace {

const char *const sshScript = R"SH(#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
shift
[ -e "$FAR/cut" ] && { echo "ssh: connect to host far port 22: No route to host" >&2; exit 255; }
echo $$ >> "$FAR/links"
LOCKSTEP_HOME="$FAR/home" exec sh -c "$*"
)SH";

std::string seen(const char *places) {
    const auto out = placesSeenFrom("hostA", nodesFromText(places).value());
    return out ? toText(*out) : "refused: " + out.error().message();
}

QByteArray recipeText(int repeats) {
    return QStringLiteral(R"({"name":"away","title":"Away","summary":"Away.","question":"Does it go on?",
"base":{"model":"lenet","dataset":"fashion-mnist","device":"cpu","epochs":2,"batch_size":64,"train_samples":640,"oversubscribe":true},
"runs":[{"method":"baseline","devices":[0]}],"repeats":%1})")
        .arg(repeats)
        .toUtf8();
}

} // namespace

class QueueElsewhereTest : public QObject {
    Q_OBJECT

    std::unique_ptr<Home> m_home;
    std::unique_ptr<QTemporaryDir> m_far;
    QByteArray m_path;

    QString far(const char *name) const { return m_far->filePath(QString::fromLatin1(name)); }

    /// The far machine's own state, as its disk has it.
    nlohmann::json farQueue(const std::string &id) const {
        const auto text =
            realFileSystem().readAll(far("home").toStdString() + "/experiments/" + id + "/experiment.json");
        return text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
    }
    std::string farState(const std::string &id, std::size_t entry) const {
        const auto json = farQueue(id);
        return json.is_object() ? json["entries"][entry]["state"].get<std::string>() : std::string();
    }

    void cutTheLink() {
        QFile cut(far("cut"));
        QVERIFY(cut.open(QIODevice::WriteOnly));
        QFile links(far("links"));
        QVERIFY(links.open(QIODevice::ReadOnly));
        for (const QByteArray &pid : links.readAll().split('\n'))
            if (pid.toInt() > 0)
                ::kill(pid.toInt(), SIGKILL); // lockstepctl or lockstep-agent, since the shells gave way to them
    }

    /// A program that leaves the file "started" behind.
    std::string plantedProgram() const {
        QFile program(far("bin/lockstep-agent"));
        if (program.open(QIODevice::WriteOnly))
            program.write("#!/bin/sh\ntouch \"$FAR/started\"\nexit 2\n");
        program.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        return program.fileName().toStdString();
    }
    /// Somebody else's run folder among one's own.
    std::string plantedRun() const {
        const std::string run = makeRunId();
        (void)realFileSystem().makeFolders(runFolder(run).path);
        plantOrigin(run);
        return run;
    }
    void plantOrigin(const std::string &run) const {
        const nlohmann::json origin = {{"host", "far"}, {"agent", plantedProgram()}};
        (void)realFileSystem().writeAtomically(runFolder(run).origin(), origin.dump());
    }
    bool started() const { return QFile::exists(far("started")); }

    std::string begin(int repeats) {
        const Answer answer =
            ctl({QStringLiteral("run"), QStringLiteral("-"), QStringLiteral("--queue-on"), QStringLiteral("far"),
                 QStringLiteral("--remote-agent"), bin + QStringLiteral("/lockstep-agent"), QStringLiteral("--detach"),
                 QStringLiteral("--json")},
                60'000, recipeText(repeats));
        const auto json = nlohmann::json::parse(answer.out.toStdString(), nullptr, false);
        if (answer.code != 0 || !json.is_object())
            qWarning("%s", answer.err.constData());
        return json.is_object() ? json.value("experiment", "") : std::string();
    }

private Q_SLOTS:
    void init() {
        m_home = std::make_unique<Home>();
        m_far = std::make_unique<QTemporaryDir>();
        QVERIFY(QDir(m_far->path()).mkdir(QStringLiteral("bin")));
        QFile ssh(far("bin/ssh"));
        QVERIFY(ssh.open(QIODevice::WriteOnly));
        ssh.write(sshScript);
        ssh.close();
        ssh.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        m_path = qgetenv("PATH");
        qputenv("PATH", far("bin").toUtf8() + ':' + m_path);
        qputenv("FAR", m_far->path().toUtf8());
    }
    void cleanup() {
        QFile::remove(far("cut"));
        for (const std::string &id : listExperiments())
            if (const auto origin = queueOriginOf(id))
                (void)runThere(*origin, {"stop", id});
        const auto busy = [this] { // its agents write until they are gone
            QDir runs(far("home/runs"));
            for (const QString &run : runs.entryList(QDir::Dirs | QDir::NoDotAndDotDot))
                if (FileLock::isHeld(runs.filePath(run).toStdString() + "/node-0.lock"))
                    return true;
            return false;
        };
        QTRY_VERIFY(!busy());
        qputenv("PATH", m_path);
        m_far.reset();
        m_home.reset();
    }

    void placesAreReadAsTheQueuesMachineSeesThem() {
        QCOMPARE(seen("hostA%eth0:0,1;hostB%bond0:0"), std::string(".%eth0:0,1;hostB%bond0:0"));
        QCOMPARE(seen("hostB%bond0:0;hostA%eth0:0 agent=/opt/a"), std::string("hostB%bond0:0;.%eth0:0 agent=/opt/a"));
        QCOMPARE(seen("hostAA%eth0:0"), std::string("hostAA%eth0:0"));
        const std::string refused = seen("hostA%eth0:0;.%eth0:0");
        QVERIFY2(refused.find("this machine is one of the run's nodes") != std::string::npos, refused.c_str());
        QVERIFY2(refused.find("omit --queue-on") != std::string::npos, refused.c_str());
    }

    void aRecipesPlacesAndThoseThatAreSetAreReadLikewise() {
        RunConfig config;
        config.method = Method::Ddp;
        config.nodes = nodesFromText("hostA%a:0;hostB%b:0").value();
        const auto given = recipeSeenFrom("hostA", {recipeFromConfigs("t", {config}, 1), {{"epochs", "2"}}});
        QVERIFY(given.has_value());
        QCOMPARE(toText(given->recipe.runs[0].config.nodes), std::string(".%a:0;hostB%b:0"));
        const auto set = recipeSeenFrom(
            "hostB", {recipeFromConfigs("t", {config}, 1), {{"nodes", "hostB%b:0;hostC%c:0"}, {"epochs", "2"}}});
        QVERIFY(set.has_value());
        QCOMPARE(set->set[0].second, std::string(".%b:0;hostC%c:0"));
        const auto both = recipeSeenFrom("hostA", {recipeFromConfigs("t", {config, config}, 1), {{"nodes", ".:0"}}});
        QVERIFY(!both.has_value());
        QCOMPARE(both.error().size(), std::size_t(1));
        const auto others = otherHosts({config, set->recipe.runs[0].config});
        QCOMPARE(others.size(), std::size_t(2));
    }

    void anOriginNamesAMachineAndNeverACommand() {
        const std::string id = makeRunId();
        QVERIFY(!queueOriginOf(id));
        const QueueOrigin origin{prefixFor("hostA", "/a b/lockstep-agent").value(), "/a b/lockstepctl"};
        QVERIFY(writeQueueOrigin(id, origin).has_value());
        QCOMPARE(queueOriginOf(id).value(), origin);
        const auto words = ctlCommand(origin, {"remote", "ask", "x;y"});
        QCOMPARE(words[words.size() - 4], std::string("'/a b/lockstepctl'"));
        QCOMPARE(words.back(), std::string("'x;y'"));
        for (const char *host : {"-oProxyCommand=touch", "a;b", "$(x)", "a b", ""}) {
            const nlohmann::json json = {{"host", host}, {"agent", "a"}, {"ctl", "c"}};
            QVERIFY(
                realFileSystem().writeAtomically(experimentFolder(id).path + "/origin.json", json.dump()).has_value());
            QVERIFY2(!queueOriginOf(id), host);
        }
    }

    void placesThatCouldNotBeReadAgainAreNotRemembered() {
        QVERIFY(rememberPlace(prefixFor("hostA", "/opt/lockstep-agent").value()));
        CommandPrefix large = prefixFor("hostB").value();
        large.agent.assign(largestDocument, 'a');
        QVERIFY(!rememberPlace(large));
        QVERIFY(isKnownPlace(prefixFor("hostA", "/opt/lockstep-agent").value()));
        for (const std::string &path : {std::string(5000, 'a'), std::string("/opt/a\nb")})
            QVERIFY2(!prefixFor("hostB", path), path.c_str());
        QVERIFY(QFile::remove(QString::fromStdString(dataHome() + "/known_places.json")));
    }

    void anAgentThatIsNoPathIsNotTakenFromAnotherMachine() {
        const QString ctl = far("bin/lockstepctl");
        const auto answers = [&](const std::string &agent) {
            const nlohmann::json said = {{"queues", queueProtocol}, {"agent", agent}};
            write(ctl.toStdString(), "#!/bin/sh\ncat <<'EOF'\n" + said.dump() + "\nEOF\n");
            return QFile::setPermissions(ctl, QFile::ReadOwner | QFile::ExeOwner);
        };
        QVERIFY(answers("/opt/lockstep-agent"));
        const auto host = queueHostAt(prefixFor("far").value());
        QVERIFY2(host.has_value(), host ? "" : host.error().message().c_str());
        QCOMPARE(host->prefix.agent, std::string("/opt/lockstep-agent"));
        const std::string known = dataHome() + "/known_places.json", before = realFileSystem().readAll(known).value();
        for (const std::string &agent : {"/" + std::string(5000, 'a'), std::string("/opt/a\nb")}) {
            QVERIFY(QFile::remove(ctl) && answers(agent));
            const auto refused = queueHostAt(prefixFor("far").value());
            QVERIFY2(!refused && refused.error().what.find("names no agent: the agent's path '") != std::string::npos,
                     refused ? "" : refused.error().message().c_str());
        }
        QCOMPARE(realFileSystem().readAll(known).value(), before);
    }

    void aQueueWhoseOriginCantBeReadIsNobodysHere() {
        const Recipe recipe = loadRecipe("lenet-dp-vs-ddp").value();
        const Experiment experiment = makeExperiment(*expand(recipe, localMachineFacts()), recipe, false, {});
        QVERIFY(writeExperiment(experiment).has_value());
        const std::string origin = experimentFolder(experiment.id).path + "/origin.json";
        QVERIFY(realFileSystem().writeAtomically(origin, "").has_value());
        QueueRequest stop;
        stop.kind = QueueRequest::Kind::Stop;
        for (const Result<void> &refused :
             {OwnedExperiment::own(experiment.id).map([](const auto &) {}), requestQueue(experiment.id, stop)})
            QVERIFY2(!refused && refused.error().message().find("may live on another machine") != std::string::npos,
                     refused ? "" : refused.error().message().c_str());
        QVERIFY(QFile::remove(QString::fromStdString(origin)));
        QVERIFY(OwnedExperiment::own(experiment.id).has_value());
    }

    void aRunsFolderThatNamesAProgramElsewhereStartsItOnlyWhenAsked() {
        const std::string run = plantedRun();
        const QString id = QString::fromStdString(run), program = far("bin/lockstep-agent");
        RunStore store(id);
        RunFollower follower(&store, id);
        QSignalSpy ended(&follower, &RunFollower::ended);
        follower.start();
        QTRY_COMPARE(ended.size(), qsizetype(1));
        QVERIFY(store.lifecycle().link() == LinkState::Failed);
        const QString sentence = store.lifecycle().linkSentence();
        QVERIFY2(sentence.contains(program + QStringLiteral("\" on far")) &&
                     sentence.contains(id + QStringLiteral(" --connect")),
                 qPrintable(sentence));
        QVERIFY(!askToStop(*originOf(runFolder(run)), run, "the test"));
        QVERIFY(!started());
        for (const char *command : {"attach", "stop", "trace"}) {
            const Answer answer = ctl({QString::fromLatin1(command), id});
            QCOMPARE(answer.code, 2);
            QVERIFY2(answer.err.contains(program.toUtf8() + "\" on far"), answer.err.constData());
            QVERIFY2(!started(), command);
        }
        (void)ctl({QStringLiteral("attach"), id, QStringLiteral("--connect")});
        QVERIFY(started());
        QVERIFY(QFile::remove(far("started")));
        (void)ctl({QStringLiteral("attach"), id}); // asked once
        QVERIFY(started());
    }

    void theLinkToARunElsewhereEndsWithItsViewer() {
        if (!QFile::exists(bin + QStringLiteral("/lockstepctl")))
            QSKIP("lockstepctl is not built");
        const std::string run = plantedRun();
        const QString program = far("bin/lockstep-agent");
        write(program.toStdString(), "#!/bin/sh\necho $$ > \"$FAR/pid\"\nexec sleep 600\n");
        QVERIFY(QFile::setPermissions(program, QFile::ReadOwner | QFile::ExeOwner));
        const auto pidIn = [&](const char *file) {
            return std::atoi(realFileSystem().readAll(far(file).toStdString()).value_or("").c_str());
        };
        QProcess viewer;
        viewer.start(bin + QStringLiteral("/lockstepctl"),
                     {QStringLiteral("attach"), QString::fromStdString(run), QStringLiteral("--connect")});
        QTRY_VERIFY(pidIn("pid") > 1);
        viewer.kill();
        QVERIFY(viewer.waitForFinished());
        const auto ended = [&] { // nobody may have waited for it yet
            QFile words(QStringLiteral("/proc/%1/cmdline").arg(pidIn("links")));
            return !words.open(QIODevice::ReadOnly) || words.readAll().isEmpty();
        };
        QTRY_VERIFY(ended());
        ::kill(pidIn("pid"), SIGKILL); // as sshd there does
    }

    void aRunWhoseFolderSaysOnlyLaterWhereItIsIsFollowedThere() {
        const std::string run = makeRunId();
        QVERIFY(realFileSystem().makeFolders(runFolder(run).path).has_value());
        const auto lock = FileLock::acquire(runFolder(run).lock(0));
        QVERIFY(lock.has_value());
        RunStore store(QString::fromStdString(run));
        RunFollower follower(&store, QString::fromStdString(run));
        follower.start();
        QTRY_VERIFY(store.lifecycle().link() == LinkState::Connecting); // it looks for an agent on this machine
        QVERIFY(!follower.remote());
        plantOrigin(run);
        QTRY_VERIFY(follower.remote());
        QCOMPARE(follower.host(), QStringLiteral("far"));
    }

    void anExperimentsFolderThatNamesAProgramElsewhereStartsItOnlyWhenAsked() {
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        const Recipe recipe = loadRecipe("lenet-dp-vs-ddp").value();
        for (const bool queueElsewhere : {true, false}) {
            Experiment planted = makeExperiment(*expand(recipe, facts), recipe, false, {});
            planted.host = "far";
            planted.remoteAgent = plantedProgram();
            planted.entries[0].state = EntryState::Running;
            planted.entries[0].run = makeRunId();
            QVERIFY(writeExperiment(planted).has_value());
            const nlohmann::json origin = {{"host", "far"}, {"agent", "lockstep-agent"}, {"ctl", planted.remoteAgent}};
            if (queueElsewhere)
                QVERIFY(realFileSystem()
                            .writeAtomically(experimentFolder(planted.id).path + "/origin.json", origin.dump())
                            .has_value());
            const QString id = QString::fromStdString(planted.id);
            ExperimentFollower follower;
            QSignalSpy over(&follower, &ExperimentFollower::runEnded);
            QVERIFY(follower.open(planted.id).has_value());
            QTRY_COMPARE(over.size(), qsizetype(1));
            QVERIFY(!queueElsewhere || follower.linkFailed());
            for (const QStringList &words : {QStringList{"attach", id},
                                             {"queue", id},
                                             {"stop", id},
                                             {"show", id},
                                             {"run", "--experiment", id},
                                             {"add", id, "--set", "epochs=1"}}) {
                const Answer answer = ctl(words);
                QVERIFY2(!started(), qPrintable(words.join(u' ')));
                if (words[0] == u"attach")
                    QVERIFY2(answer.code == 2 && answer.err.contains("--connect"), answer.err.constData());
            }
            QVERIFY(acceptPlacesOf(planted.id).has_value());
            QVERIFY(unknownPlacesOf(planted.id).empty());
            QVERIFY(QFile::remove(QString::fromStdString(dataHome() + "/known_places.json")));
        }
    }

    void aPlaceInTheListOfNodesAndOneThatACommandNamedNeedNoQuestion() {
        const CommandPrefix listed = prefixFor("far", "/opt/lockstep-agent").value();
        CommandPrefix ctlThere = listed, other = listed, elsewhere = listed;
        ctlThere.agent = "/opt/lockstepctl";
        other.agent = "/tmp/lockstep-agent";
        elsewhere = prefixFor("hostB", "/opt/lockstep-agent").value();
        NodeEntry node;
        node.name = "n1";
        node.how = "ssh";
        node.host = "far";
        node.agent = "/opt/lockstep-agent";
        QVERIFY(!isKnownPlace(listed));
        QVERIFY(addNode(node).has_value());
        QVERIFY(isKnownPlace(listed) && isKnownPlace(ctlThere));
        QVERIFY(!isKnownPlace(other) && !isKnownPlace(elsewhere));
        QVERIFY(rememberPlace(other).has_value());
        QVERIFY(isKnownPlace(other) && !isKnownPlace(elsewhere));
        QCOMPARE(unknownOf({elsewhere, CommandPrefix(), listed, ctlThere, other, elsewhere}),
                 (std::vector<CommandPrefix>{elsewhere, elsewhere}));
        const std::filesystem::path agent = std::filesystem::canonical(findAgent().value());
        const std::string posed = "lockstep-agent\", which your list names. Nothing else is started. \u202e";
        QCOMPARE(placesText({CommandPrefix{{}, "box", posed + "x\ny"}}),
                 std::string("\"lockstep-agent', which your list names. Nothing else is started. \uFFFDx y\" on box"));
        QVERIFY(placesText({CommandPrefix{{}, "box", std::string(20'000, 'a')}}).size() < 300);
        const auto isKnownInJob = [](const std::filesystem::path &program) {
            return isKnownPlace(prefixFor("slurm:17/n1", program.string()).value());
        };
        QVERIFY(isKnownInJob(agent)); // this installation's, in a job of this user's
        QVERIFY(isKnownInJob(agent.parent_path() / "lockstepctl"));
        QVERIFY(!isKnownInJob("/tmp/lockstep-agent") && !isKnownInJob("lockstep-agent"));
        const QTemporaryDir folder;
        const std::filesystem::path link = folder.filePath(QStringLiteral("lockstep-agent")).toStdString();
        std::filesystem::create_symlink(agent, link);
        QVERIFY(!isKnownInJob(link)); // on the job's machine it may lead elsewhere
    }

    void thousandsOfPlacesInAForeignExperimentAreAskedAboutAtOnce() {
        Experiment experiment;
        experiment.id = makeRunId();
        for (int entry = 0; entry < 4; ++entry) {
            auto &nodes = experiment.entries.emplace_back().planned.config.nodes;
            for (int i = 0; i < mostNodes; ++i)
                nodes.push_back({"h" + std::to_string(entry * mostNodes + i), "eth0", {"0"}, {}, 0, {}, {}, {}});
        }
        experiment.entries.push_back(experiment.entries.front());
        QElapsedTimer timer;
        timer.start();
        const auto places = placesOf(experiment);
        QCOMPARE(places.size(), std::size_t(4 * mostNodes));
        QCOMPARE(places.back().host, "h" + std::to_string(4 * mostNodes - 1));
        QCOMPARE(unknownOf(places).size(), places.size());
        QVERIFY(rememberPlaces(places).has_value() && unknownOf(places).empty());
        QVERIFY2(timer.elapsed() < 5'000, qPrintable(QString::number(timer.elapsed())));
    }

    void whatAnotherMachineSaysIsBoundedAndMustBeOfTheRunThatWasAskedFor() {
        const auto saying = [](const char *script) {
            return CommandPrefix{{"/bin/sh", "-c", script, "--"}, "far", "lockstep-agent", false};
        };
        QVERIFY(!machineFacts(saying("cat /dev/zero >&2 & exec cat /dev/zero")));
        AgentLauncher launcher;
        QSignalSpy failed(&launcher, &AgentLauncher::failed);
        LaunchRequest request;
        request.record.run = "20260102T030405Z-00000001";
        launcher.start(saying(R"(echo '{"type":"ready","run":"20260102T030405Z-00000002","socket":"x","pid":1}';
                              cat /dev/zero >&2 & exec cat /dev/zero)"),
                       request);
        QVERIFY(failed.wait(test::hangLimitMs));
        const std::string why = failed[0][0].value<Error>().message();
        QVERIFY2(why.find("answers for 20260102T030405Z-00000002") != std::string::npos, why.c_str());
        QTest::qWait(500); // it talks on
        struct rusage usage {};
        QCOMPARE(::getrusage(RUSAGE_SELF, &usage), 0);
#ifndef __SANITIZE_ADDRESS__ // it keeps what was freed
        QVERIFY2(usage.ru_maxrss < 600 * 1024, qPrintable(QString::number(usage.ru_maxrss)));
#endif
    }

    void anEndlessErrorOfAQueueElsewhereIsCut() {
        QFile program(far("bin/lockstepctl"));
        QVERIFY(program.open(QIODevice::WriteOnly));
        program.write("#!/bin/sh\nprintf '{\"type\":\"answer\",\"number\":7,\"error\":\"'\n"
                      "head -c 1000000 /dev/zero | tr '\\0' x\nprintf '\"}\\n'\nexec cat >/dev/null\n");
        program.close();
        program.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        const QueueOrigin origin{prefixFor("far", "lockstep-agent").value(), program.fileName().toStdString()};
        QVERIFY(rememberPlaces(placesOf(origin)).has_value());
        QueueBridge bridge(makeRunId(), origin);
        QSignalSpy refused(&bridge, &QueueBridge::refused);
        bridge.start();
        QTRY_VERIFY(!refused.isEmpty());
        QCOMPARE(refused[0][0].toString(), "on far: " + QString(qsizetype(longestText), 'x'));
    }

    void answersAmongMillionsOfEmptyLinesAreTakenInOrder() {
        QFile program(far("bin/lockstepctl"));
        QVERIFY(program.open(QIODevice::WriteOnly));
        program.write("#!/bin/sh\nhead -c 4000000 /dev/zero | tr '\\0' '\\n'\n"
                      "printf '{\"type\":\"answer\",\"number\":7,'\nprintf '\"error\":\"first\"}\\n\\n'\n"
                      "printf '{\"type\":\"answer\",\"number\":8,\"error\":\"second\"}\\n'\nexec cat >/dev/null\n");
        program.close();
        program.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        const QueueOrigin origin{prefixFor("far", "lockstep-agent").value(), program.fileName().toStdString()};
        QVERIFY(rememberPlaces(placesOf(origin)).has_value());
        QueueBridge bridge(makeRunId(), origin);
        QSignalSpy refused(&bridge, &QueueBridge::refused);
        bridge.start();
        QTRY_COMPARE(refused.size(), 2);
        QCOMPARE(refused[0][0].toString(), QStringLiteral("on far: first"));
        QCOMPARE(refused[1][0].toString(), QStringLiteral("on far: second"));
    }

    void aQueueThatCallsAPathARunIsRefused() {
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        const Recipe recipe = loadRecipe("lenet-dp-vs-ddp").value();
        const QueueOrigin origin{prefixFor("hostA", "lockstep-agent").value(), "lockstepctl"};
        QueueSnapshot good{makeExperiment(*expand(recipe, facts), recipe, false, {}), true};
        QVERIFY(snapshotFromJson(toJson(good), origin).has_value());
        QueueSnapshot run = good, earlier = good, whole = good, nameless = good;
        run.experiment.entries[0].run = "../../x";
        earlier.experiment.entries[0].earlierRuns = {makeRunId(), "/etc"};
        whole.experiment.id = "..";
        nameless.experiment.entries[0].state = EntryState::Running; // its folder would be that of all runs
        for (const QueueSnapshot &bad : {run, earlier, whole, nameless})
            QVERIFY(!snapshotFromJson(toJson(bad), origin));
        QVERIFY(!isRunId("../../x"));
        QVERIFY(!realFileSystem().makeFolders(runFolder("../../x").path)); // nothing can be made there
    }

    void anExperimentInAnothersFolderIsRefused() {
        MachineFacts facts;
        facts.allowedCores = {0, 1};
        const Recipe recipe = loadRecipe("lenet-dp-vs-ddp").value();
        const Experiment mine = makeExperiment(*expand(recipe, facts), recipe, false, {});
        QVERIFY(writeExperiment(mine).has_value());
        const std::string folder = makeRunId();
        QVERIFY(realFileSystem().makeFolders(experimentFolder(folder).path).has_value());
        QVERIFY(realFileSystem().writeAtomically(experimentFolder(folder).json(), toJson(mine)).has_value());
        const auto read = readExperiment(folder);
        QVERIFY2(!read && read.error().message().find(mine.id) != std::string::npos,
                 "what is removed goes by the id in it");
    }

    void aQueueElsewhereIsFollowedThroughALostLinkAndAskedOnlyWhileItIsThere() {
        if (!useFakeRanks())
            QSKIP("the programs are not built");
        qputenv("FAKE_RANK", "epochs=3;steps=60;step_ms=10");
        const std::string id = begin(8); // the last is far off when the link is back
        QVERIFY(!id.empty());
        QVERIFY(queueOriginOf(id));
        QVERIFY(!isOwned(id)); // nobody owns it here
        ExperimentFollower follower;
        QSignalSpy refused(&follower, &ExperimentFollower::refused);
        QVERIFY(follower.open(id).has_value());
        QCOMPARE(follower.queueHost(), QStringLiteral("far"));
        QTRY_VERIFY(follower.unknownWhy().isEmpty());
        QVERIFY(follower.owned());
        QTRY_VERIFY(follower.current() && follower.current()->lifecycle().link() == LinkState::Live);

        cutTheLink();
        QTRY_VERIFY(follower.unknownWhy().contains(u"the link to far is lost, the queue's state is unknown"));
        QVERIFY(!follower.orphaned()); // nobody knows
        QueueRequest pause;
        pause.kind = QueueRequest::Kind::Pause;
        pause.by = "the test";
        const auto lost = follower.ask(pause);
        QVERIFY(!lost);
        QVERIFY2(lost.error().message().find("nothing was requested") != std::string::npos,
                 lost.error().message().c_str());
        const Answer command = ctl({QStringLiteral("pause"), QString::fromStdString(id)});
        QCOMPARE(command.code, 1);
        QVERIFY2(command.err.contains("far can't be reached"), command.err.constData());
        QVERIFY(!farQueue(id).contains("paused_by"));
        const auto lastSeen = ctl({QStringLiteral("queue"), QString::fromStdString(id), QStringLiteral("--json")});
        const auto json = nlohmann::json::parse(lastSeen.out.toStdString(), nullptr, false);
        QVERIFY(json.is_object());
        QVERIFY(json["owned"].is_null());
        QCOMPARE(json["queue_on"].get<std::string>(), std::string("far"));

        QTRY_COMPARE(farState(id, 0), std::string("done")); // it goes on without us
        QFile::remove(far("cut"));
        QTRY_VERIFY(follower.unknownWhy().isEmpty());
        QTRY_VERIFY(follower.experiment().entries[0].state == EntryState::Done);
        QueueRequest skip;
        skip.kind = QueueRequest::Kind::Skip;
        skip.entry = 7;
        skip.by = "the test";
        QVERIFY(follower.ask(skip).has_value());
        QTRY_COMPARE(farState(id, 7), std::string("not run"));
        QVERIFY(farQueue(id)["entries"][7]["reason"].get<std::string>().find("the test") != std::string::npos);
        QueueRequest wrong = skip;
        wrong.entry = 0;
        QVERIFY(follower.ask(wrong).has_value());
        QTRY_COMPARE(refused.size(), 1); // that machine says why not
        QVERIFY2(refused[0][0].toString().startsWith(u"on far: "), refused[0][0].toByteArray().constData());

        QueueRequest stop;
        stop.by = "the test";
        QTRY_COMPARE(farState(id, 1), std::string("done"));
        QVERIFY(follower.ask(stop).has_value());
        QTRY_VERIFY(follower.experiment().over());
        QTRY_VERIFY(follower.store(0)->result() && follower.store(1)->result());
        for (int entry = 0; entry < 2; ++entry) {
            const std::string run = follower.experiment().entries[std::size_t(entry)].run;
            QCOMPARE(realFileSystem().readAll(runFolder(run).log(0)).value(),
                     realFileSystem().readAll(far("home").toStdString() + "/runs/" + run + "/node-0.ndjson").value());
        }
    }

    void anotherMachineFollowsAQueueByThePathThatItsHostAnswers() {
        if (!useFakeRanks())
            QSKIP("the programs are not built");
        qputenv("FAKE_RANK", "epochs=2;steps=40;step_ms=10");
        const std::string id = begin(2);
        QVERIFY(!id.empty());
        m_home.reset();
        m_home = std::make_unique<Home>(); // the other machine
        qunsetenv("LOCKSTEP_REMOTE_AGENT");
        qputenv("PATH", far("bin").toUtf8() + ':' + bin.toUtf8() + ':' + m_path);
        const Answer followed = ctl({QStringLiteral("attach"), QString::fromStdString(id), QStringLiteral("--queue-on"),
                                     QStringLiteral("far")});
        QVERIFY2(followed.code == 0, followed.err.constData());
        QCOMPARE(queueOriginOf(id).value().prefix.agent, (bin + QStringLiteral("/lockstep-agent")).toStdString());
        QCOMPARE(farState(id, 1), std::string("done"));
    }

    void aQueueWithoutAnOwnerThereIsResumedThere() {
        if (!useFakeRanks())
            QSKIP("the programs are not built");
        qputenv("FAKE_RANK", "epochs=2;steps=40;step_ms=10");
        const std::string id = begin(2);
        QVERIFY(!id.empty());
        ExperimentFollower follower;
        QVERIFY(follower.open(id).has_value());
        QTRY_VERIFY(follower.owned() && follower.experiment().current());
        const auto owner = // the lock's holder stands in it
            realFileSystem().readAll(far("home").toStdString() + "/experiments/" + id + "/experiment.lock");
        QVERIFY(owner && std::atoi(owner->c_str()) > 0);
        ::kill(std::atoi(owner->c_str()), SIGKILL);
        QTRY_VERIFY(follower.orphaned());
        const Answer taken = ctl({QStringLiteral("run"), QStringLiteral("--experiment"), QString::fromStdString(id),
                                  QStringLiteral("--detach")});
        QVERIFY2(taken.code == 0, taken.err.constData());
        QTRY_VERIFY(follower.experiment().over());
        QCOMPARE(farState(id, 1), std::string("done"));
    }
};

QTEST_GUILESS_MAIN(QueueElsewhereTest)
#include "queue_elsewhere_test.moc"
