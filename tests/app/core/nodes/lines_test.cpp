// SPDX-License-Identifier: MIT
// Which line of PyTorch nodes use together: drivers, GPUs and what is there already decide, and the reason is reported.
// Also what a node says of itself before a sync.
#include <QFile>
#include <QTemporaryDir>

#include "core_support.h"
#include "nodes/doctor_checks.h"
#include "nodes/node_book.h"
#include "nodes/sync.h"
#include "nodes/sync_bundle.h"
#include "nodes/torch_line.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;

namespace {

const std::vector<std::string> both = {"2.11.0+cu130", "2.7.1+cu126"}, newest = {"2.11.0"}, older = {"2.7.1"};

LineFacts cpu(const char *name, const char *own = "") {
    return {name, {}, {}, own, false};
}
LineFacts gpu(const char *name, const char *driver, const char *capability, const char *own = "") {
    return {name, driver, {{"Card", capabilityFromText(capability)}}, own, false};
}

NodeSnapshot probed(const LineFacts &facts, const char *torch) {
    NodeSnapshot snapshot;
    snapshot.node.name = facts.node;
    snapshot.node.how = "ssh";
    snapshot.agentVersion = "0.1.0";
    snapshot.facts.emplace();
    snapshot.facts->torch = torch;
    snapshot.facts->gpuDriver = facts.driver;
    for (const LineFacts::Gpu &one : facts.gpus) {
        snapshot.facts->gpus.emplace_back();
        snapshot.facts->gpus.back().name = one.name;
        snapshot.facts->gpus.back().computeCapability = one.capability ? toString(*one.capability) : "";
    }
    return snapshot;
}

const Finding *find(const std::vector<Finding> &findings, const char *code) {
    const auto found =
        std::find_if(findings.begin(), findings.end(), [&](const Finding &one) { return one.code == code; });
    return found == findings.end() ? nullptr : &*found;
}

} // namespace

Q_DECLARE_METATYPE(std::vector<lockstep::core::LineFacts>)
Q_DECLARE_METATYPE(std::vector<std::string>)

class CoreLinesTest : public QObject {
    Q_OBJECT
    test::Home m_home;

private Q_SLOTS:
    void aNodeWhoseDataFolderIsNoPlainPathIsRefusedBeforeASync() {
        const QByteArray home = qgetenv("LOCKSTEP_HOME");
        const NodeEntry here{"n", "local", {}, {}, "/bin/true", {}, false, {}};
        for (const std::string &folder :
             {std::string("/nowhere/a"), std::string("/nowhere/a\tb"), "/" + std::string(2000, 'a')}) {
            qputenv("LOCKSTEP_HOME", folder.c_str());
            const auto shell = NodeShell::open(here, {});
            const auto said = shell ? survey(**shell) : fail(shell.error().error);
            qputenv("LOCKSTEP_HOME", home);
            QCOMPARE(said.has_value(), folder == "/nowhere/a");
            QVERIFY2(said || said.error().what.find("n says of its data folder '/") == 0,
                     said ? "" : said.error().what.c_str());
        }
    }

    void oneLineIsChosenThatAllNodesCanUse_data() {
        QTest::addColumn<std::vector<LineFacts>>("nodes");
        QTest::addColumn<std::vector<std::string>>("built");
        QTest::addColumn<QString>("version"); // empty: none
        QTest::addColumn<QString>("says");
        const auto row = [](const char *name, std::vector<LineFacts> nodes, const std::vector<std::string> &built,
                            const char *version, const char *says) {
            QTest::newRow(name) << std::move(nodes) << built << QString::fromLatin1(version) << QString::fromUtf8(says);
        };
        row("CPU only: the newest", {cpu("a"), cpu("b")}, both, "2.11.0", "every node can use it");
        row("CPU only, the newest is not built", {cpu("a")}, older, "2.7.1", "2.11.0 is not built here");
        row("Turing with a new driver", {gpu("a", "580.65.06", "7.5")}, both, "2.11.0", "every node can use it");
        row("Ada runs Ampere's kernels", {gpu("a", "590.1", "8.9")}, both, "2.11.0", "");
        row("Blackwell", {gpu("a", "580.65.06", "12.0")}, both, "2.11.0", "");
        row("Volta", {gpu("a", "580.65.06", "7.0")}, both, "2.7.1",
            "2.11.0 does not run on a, whose Card has compute capability 7.0");
        row("an older driver", {gpu("a", "535.104.05", "8.0")}, both, "2.7.1",
            "2.11.0 does not run on a, whose driver is 535.104.05, but CUDA 13.0 needs 580 or newer");
        row("the oldest driver that will do", {gpu("a", "525.60.13", "8.0")}, both, "2.7.1", "");
        row("too old a driver", {gpu("a", "470.82", "8.0")}, both, "", "CUDA 12.6 needs 525 or newer");
        row("a driver that is unknown excludes none", {gpu("a", "", "8.0")}, both, "2.11.0", "");
        row("a GPU that is unknown excludes none", {gpu("a", "590.1", "")}, both, "2.11.0", "");
        row("one old node decides for all", {gpu("new", "590.1", "9.0"), gpu("old", "535.1", "8.0"), cpu("c")}, both,
            "2.7.1", "does not run on old");
        row("Volta beside Blackwell: none", {gpu("old", "590.1", "7.0"), gpu("new", "590.1", "10.0")}, both, "",
            "2.11.0 does not run on old");
        row("Volta, and its line is not built", {gpu("a", "580.1", "7.0")}, newest, "",
            "PyTorch 2.7.1 would work, but the trainer is not built for it here");
        row("all have the older one of their own", {cpu("a", "2.7.1+cu126"), cpu("b", "2.7.0")}, both, "2.7.1",
            "none has to be copied");
        row("only some have it", {cpu("a", "2.7.1"), cpu("b")}, both, "2.11.0", "");
        row("both are there", {cpu("a", "2.11.0"), cpu("b", "2.11.0+cpu")}, both, "2.11.0", "");
        row("their own, but not built here", {cpu("a", "2.7.1")}, newest, "2.11.0", "");
        LineFacts here = cpu("here");
        here.here = true;
        row("this machine has each", {here, cpu("b", "2.7.1")}, both, "2.7.1", "none has to be copied");
        row("this machine alone", {here}, both, "2.11.0", "");
        row("nothing is built", {cpu("a")}, {}, "", "is not built");
    }
    void oneLineIsChosenThatAllNodesCanUse() {
        QFETCH(std::vector<LineFacts>, nodes);
        QFETCH(std::vector<std::string>, built);
        QFETCH(QString, version);
        QFETCH(QString, says);
        const auto choice = chooseLine(nodes, built);
        QCOMPARE(choice ? QString::fromStdString(choice->line.version) : QString(), version);
        const std::string said = choice ? choice->reason : choice.error().message();
        QVERIFY2(QString::fromStdString(said).contains(says), said.c_str());
        if (choice)
            QVERIFY2(said.starts_with("PyTorch " + choice->line.version + " (CUDA "), said.c_str());
        else
            QVERIFY(!choice.error().wayOut.empty());
    }

    void aTrainerIsAskedOnceForAllThatIsBroughtWithIt() {
        QTemporaryDir folder;
        const auto script = [&](const char *name, const QByteArray &text) {
            QFile file(folder.filePath(QLatin1String(name)));
            if (file.open(QIODevice::WriteOnly))
                file.write("#!/bin/sh\n" + text);
            file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
            return file.fileName().toUtf8();
        };
        const QByteArray asked = folder.filePath(QStringLiteral("asked")).toUtf8();
        qputenv("LOCKSTEP_AGENT", script("lockstep-agent", ""));
        qputenv("LOCKSTEP_LINES", folder.path().toUtf8());
        qputenv("LOCKSTEP_TRAINER",
                script("lockstep-trainer",
                       "echo \"asked $LOCKSTEP_FACTS\" >> " + asked +
                           "\necho '{\"torch\":\"2.11.0+cpu\",\"libraries\":[\"/lib/libtorch.so\"]}'\n"));
        const auto lines = localLines();
        const auto count = [&] {
            QFile file(QString::fromUtf8(asked));
            return file.open(QIODevice::ReadOnly) ? file.readAll().count('\n') : 0;
        };
        QCOMPARE(int(lines.size()), 1);
        QCOMPARE(lines[0].version, std::string("2.11.0+cpu"));
        for (int node = 0; node < 3; ++node) {
            const auto trainer = localTrainer(lines[0], false);
            QVERIFY2(trainer, trainer ? "" : trainer.error().message().c_str());
            QCOMPARE(trainer->torchVersion, std::string("2.11.0+cpu"));
            QCOMPARE(trainer->libraries, std::vector<std::string>{"/lib/libtorch.so"});
        }
        QCOMPARE(int(count()), 1);
        QVERIFY(localTrainer(lines[0], true).has_value());
        QCOMPARE(int(count()), 2);
        for (const char *name : {"LOCKSTEP_AGENT", "LOCKSTEP_LINES", "LOCKSTEP_TRAINER"})
            qunsetenv(name);
    }

    void theOrderOfNodesDecidesNothing() {
        const std::vector<LineFacts> nodes = {gpu("a", "535.1", "8.0"), cpu("b"), gpu("c", "590.1", "7.5", "2.7.1")};
        std::vector<std::size_t> order = {0, 1, 2};
        do {
            std::vector<LineFacts> mixed;
            for (const std::size_t i : order)
                mixed.push_back(nodes[i]);
            const auto choice = chooseLine(mixed, both);
            QVERIFY(choice.has_value());
            QCOMPARE(choice->line.version, std::string("2.7.1"));
        } while (std::next_permutation(order.begin(), order.end()));
    }

    void versionsBelongToLinesByMajorAndMinor() {
        QCOMPARE(lineOf("2.7.1+cu126")->version, std::string("2.7.1"));
        QCOMPARE(lineOf("2.7.0")->version, std::string("2.7.1"));
        QCOMPARE(lineOf("2.11.0+cpu")->version, std::string("2.11.0"));
        for (const char *other : {"2.1.0", "2.70.0", "2.8.0", "", "2", "12.7.1", "2.110.0"})
            QVERIFY2(!lineOf(other), other);
        QCOMPARE(bundleOfLine("torch", "2.11.0+cu130"), std::string("torch"));
        QCOMPARE(bundleOfLine("torch", "2.7.1+cu126"), std::string("torch-2.7"));
        QCOMPARE(bundleOfLine("programs", "2.5.1"), std::string("programs"));
    }

    void capabilitiesAreReadOrUnknown() {
        QVERIFY(capabilityFromText("12.0") == Capability({12, 0}));
        for (const char *bad : {"", "-", "8", "x.y", "[N/A]"})
            QVERIFY2(!capabilityFromText(bad), bad);
    }

    void theDoctorShowsTheLineOrWhyThereIsNone() {
        DoctorSnapshot snapshot;
        snapshot.ownVersion = "0.1.0";
        snapshot.builtLines = both;
        snapshot.nodes = {probed(gpu("new", "590.1", "9.0"), "2.7.1"), probed(gpu("old", "535.1", "7.0"), "2.7.1")};
        snapshot.choices.resize(2);
        const auto reported = findingsOf(snapshot);
        QVERIFY(find(reported, "torch_line"));
        QVERIFY(find(reported, "torch_line")->severity == Finding::Severity::Note);
        QVERIFY2(find(reported, "torch_line")->what.find("does not run on old") != std::string::npos,
                 find(reported, "torch_line")->what.c_str());
        QVERIFY(!find(reported, "line_unfit"));

        snapshot.nodes[1] = probed(gpu("old", "535.1", "7.0"), "2.11.0");
        const auto unfit = findingsOf(snapshot);
        QVERIFY(find(unfit, "line_unfit"));
        QCOMPARE(find(unfit, "line_unfit")->where, std::string("old"));
        QVERIFY(find(unfit, "line_unfit")->fix.find("nodes sync new old") != std::string::npos);
        QVERIFY(find(unfit, "torch_differs"));

        snapshot.nodes[0] = probed(gpu("new", "590.1", "12.0"), "2.11.0");
        const auto none = findingsOf(snapshot);
        QVERIFY(find(none, "no_common_line"));
        QVERIFY(find(none, "no_common_line")->severity == Finding::Severity::Error);
        const std::string why = find(none, "no_common_line")->what;
        QVERIFY2(why.find("on new") != std::string::npos && why.find("on old") != std::string::npos, why.c_str());
    }

    void theBookKeepsWhyALineWasChosen() {
        NodeEntry node;
        node.name = node.host = "box";
        node.how = "ssh";
        node.torch = "2.7.1 by sync";
        node.lineReason = "PyTorch 2.7.1 (CUDA 12.6): since it's \"so\"";
        const auto read = nodesFromJson(toJson(std::vector{node}));
        QVERIFY(read.has_value());
        QCOMPARE(read->front(), node);
    }
};

QTEST_GUILESS_MAIN(CoreLinesTest)
#include "lines_test.moc"
