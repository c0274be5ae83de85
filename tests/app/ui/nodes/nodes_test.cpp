// SPDX-License-Identifier: MIT
// The Nodes page over the real agent of this machine, and its picture over nodes that were measured.
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>

#include "app/ui/charts/topology_view.h"
#include "app/ui/pages/nodes/node_card.h"
#include "app/ui/pages/nodes/node_dialog.h"
#include "app/ui/pages/nodes/nodes_page.h"
#include "app/ui/pages/shared/finding_list.h"
#include "app/ui/pages/shared/run_nodes_view.h"
#include "app/ui/pages/shared/ssh_question_dialog.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/empty_state.h"
#include "nodes/topology.h"
#include "store/run_store.h"
#include "tests/qt_test.h"
#include "ui_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;
using namespace lockstep::uitest;

namespace {

core::NodeSnapshot usable(const std::string &name, const std::string &address, int cores) {
    core::NodeSnapshot snapshot;
    snapshot.node.name = name;
    snapshot.node.how = "ssh";
    snapshot.node.host = name;
    snapshot.node.interface = "eth0";
    core::NodeFacts facts;
    facts.host = name;
    facts.allowedCoreCount = cores;
    core::NodeFacts::Interface one;
    one.name = "eth0";
    one.state = "up";
    one.addresses = {address};
    facts.interfaces = {one};
    snapshot.facts = facts;
    return snapshot;
}

core::LinkMeasure way(std::size_t from, std::size_t to, double bandwidth) {
    core::LinkMeasure link;
    link.from = from;
    link.to = to;
    link.interface = "eth0";
    link.address = "10.0.0.1";
    link.ok = true;
    link.roundTripS = 2e-4;
    link.bandwidthBytesS = bandwidth;
    return link;
}

/// 2 + 1 devices over a way that is slower back than there.
core::DoctorSnapshot twoNodes() {
    core::DoctorSnapshot snapshot;
    snapshot.nodes = {usable("n1", "10.0.0.1", 2), usable("n2", "10.0.0.2", 1)};
    snapshot.links = {way(0, 1, 100e6), way(1, 0, 50e6)};
    return snapshot;
}

core::NodeEntry here() {
    core::NodeEntry node;
    node.name = "here";
    node.how = "local";
    return node;
}

} // namespace

class UiNodesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() {
        m_home = std::make_unique<Home>();
        qputenv("LOCKSTEP_AGENT", LOCKSTEP_BIN "/lockstep-agent");
    }

    void withoutANodeThePageOffersToAddOne() {
        Theme theme;
        NodesPage page(theme);
        QVERIFY(page.isEmpty());
        page.show();
        page.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&page));
        QTest::keyClick(&page, Qt::Key_N, Qt::ControlModifier | Qt::ShiftModifier);
        NodeDialog *dialog = nullptr; // a shortcut's click comes a moment later
        QTRY_VERIFY((dialog = page.findChild<NodeDialog *>()));
        dialog->howBox()->setCurrentIndex(dialog->howBox()->findData(QStringLiteral("local")));
        dialog->addButton()->click();
        QVERIFY(!page.isEmpty());
        QVERIFY(page.card(QStringLiteral("here")));
    }

    // A picture of the page waits for this: how busy a node is takes two of its answers.
    void thePageWaitsUntilANodeHasSaidAll() {
        Theme theme;
        NodesPage page(theme);
        page.show();
        page.add(here());
        QVERIFY(page.waiting());
        QTRY_VERIFY(!page.waiting());
        for (const char *figure : {"busy", "clock"})
            QVERIFY2(page.card(QStringLiteral("here"))->figure(QString::fromLatin1(figure)) != QLatin1String("-"),
                     figure);
    }

    void aNodeReportsEachSecondHowItStands() {
        Theme theme;
        NodesPage page(theme);
        page.show();
        page.add(here());
        NodeCard *card = page.card(QStringLiteral("here"));
        QVERIFY(card);
        QTRY_VERIFY(!card->figure(QStringLiteral("busy")).isEmpty());
        // As its bar says; in the unit of devices and lanes, both the same.
        const QString memory = card->figure(QStringLiteral("memory used"));
        QVERIFY2(memory.count(QStringLiteral("GiB")) == 2 && memory.contains(QStringLiteral(" of ")),
                 qPrintable(memory));
        QVERIFY(card->stateText().isEmpty());
        QCOMPARE(page.topology()->topology().nodes.size(), std::size_t(1));
        QTRY_VERIFY(page.topology()->topology().worldSize() >= 1);
    }

    void aPageThatIsNotShownWatchesNobody() {
        Theme theme;
        NodesPage page(theme);
        page.show();
        page.add(here());
        NodeCard *card = page.card(QStringLiteral("here"));
        QTRY_VERIFY(!card->figure(QStringLiteral("busy")).isEmpty());
        page.hide();
        QCOMPARE(page.findChildren<QProcess *>().size(), 0);
    }

    void aHostThatNobodyKnowsIsSaidSoAtItsCard() {
        Theme theme;
        NodesPage page(theme);
        page.show();
        core::NodeEntry node;
        node.name = "far";
        node.how = "ssh";
        node.host = "far.invalid";
        page.add(node);
        NodeCard *card = page.card(QStringLiteral("far"));
        QTRY_VERIFY(card->stateText().contains(QStringLiteral("far.invalid")));
        QVERIFY(card->againButton()->isVisible());
    }

    void theDoctorSaysWhatItFoundAndWhen() {
        Theme theme;
        NodesPage page(theme);
        page.show();
        page.add(here());
        page.doctorButton()->click();
        QCOMPARE(page.doctorButton()->text(), QStringLiteral("Cancel"));
        QTRY_VERIFY(page.doctorText().contains(QStringLiteral("Checked at")));
        QCOMPARE(page.doctorButton()->text(), QStringLiteral("Doctor"));
    }

    void aDoctorThatIsCancelledEndsThoughANodeDoesNotAnswer() {
        const QTemporaryDir folder;
        QFile ssh(folder.filePath(QStringLiteral("ssh")));
        QVERIFY(ssh.open(QIODevice::WriteOnly));
        ssh.write("#!/bin/sh\nexec sleep 600\n");
        ssh.close();
        ssh.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        const QByteArray path = qgetenv("PATH");
        qputenv("PATH", folder.path().toUtf8() + ':' + path);
        {
            Theme theme;
            NodesPage page(theme);
            page.show();
            core::NodeEntry node;
            node.name = "far";
            node.how = "ssh";
            node.host = "far.invalid";
            page.add(node);
            page.doctorButton()->click();
            QTRY_VERIFY(!page.doctorText().isEmpty());
            page.doctorButton()->click();
            QVERIFY(page.doctorText().startsWith(QStringLiteral("Cancelled; waiting")));
            QVERIFY(!page.doctorButton()->isEnabled());
            QTRY_COMPARE(page.doctorButton()->text(), QStringLiteral("Doctor"));
            QVERIFY(page.doctorButton()->isEnabled());
            QCOMPARE(page.doctorText(), QStringLiteral("Cancelled."));
        }
        qputenv("PATH", path);
    }

    void aNodeThatIsRemovedIsGoneFromTheBookToo() {
        Theme theme;
        NodesPage page(theme);
        page.show();
        page.add(here());
        Q_EMIT page.card(QStringLiteral("here"))->removeWanted();
        QVERIFY(page.isEmpty());
        QVERIFY(core::readNodes()->empty());
    }

    void anInterfaceThatAPersonChoosesIsPinned() {
        Theme theme;
        NodesPage page(theme);
        page.show();
        page.add(here());
        Q_EMIT page.card(QStringLiteral("here"))->interfaceChosen(QStringLiteral("eth7"));
        auto nodes = core::readNodes();
        QCOMPARE(nodes->front().interface, std::string("eth7"));
        QVERIFY(nodes->front().interfacePinned);
        Q_EMIT page.card(QStringLiteral("here"))->interfaceChosen({});
        nodes = core::readNodes();
        QVERIFY(!nodes->front().interfacePinned);
    }

    void aNameThatCouldReachAShellCanNotBeAdded() {
        NodeDialog dialog;
        dialog.hostBox()->setEditText(QStringLiteral("box; touch /tmp/x"));
        QVERIFY(!dialog.mistake().isEmpty());
        QVERIFY(!dialog.addButton()->isEnabled());
        dialog.hostBox()->setEditText(QStringLiteral("me@box"));
        QCOMPARE(dialog.mistake(), QString());
        QCOMPARE(dialog.node().name, std::string("box"));
        QVERIFY(dialog.addButton()->isEnabled());
    }

    void hostsOfThePersonsOwnSshConfigurationAreOffered() {
        QTemporaryDir folder;
        const auto write = [&](const QString &name, const QByteArray &text) {
            QFile file(folder.filePath(name));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(text);
        };
        write(QStringLiteral("more"), "Host=gpu3\n  Port 2222\n");
        write(QStringLiteral("config"), "# mine\nHost gpu1 gpu2 *.lab !x\n  User me\nInclude " +
                                            folder.filePath(QStringLiteral("more")).toUtf8() + "\nHost *\n");
        QCOMPARE(sshHosts(folder.filePath(QStringLiteral("config"))),
                 QStringList({QStringLiteral("gpu1"), QStringLiteral("gpu2"), QStringLiteral("gpu3")}));
    }

    void aNewHostsKeyIsShownAndNotAcceptedByAStrayEnter() {
        core::SshQuestion question;
        question.kind = core::SshQuestion::Kind::HostKey;
        question.host = "box";
        question.keyType = "ED25519";
        question.fingerprint = "SHA256:abcdef";
        SshQuestionDialog dialog(question);
        QStringList words;
        for (const QLabel *label : dialog.findChildren<QLabel *>())
            words << label->text();
        QVERIFY(words.contains(QStringLiteral("SHA256:abcdef")));
        QVERIFY(!dialog.acceptButton()->isDefault());
        dialog.show();
        QTest::keyClick(&dialog, Qt::Key_Return);
        QCOMPARE(dialog.result(), int(QDialog::Rejected));
        QCOMPARE(dialog.answer(), QStringLiteral("yes"));
    }

    void aPassphraseIsNotShown() {
        core::SshQuestion question;
        question.kind = core::SshQuestion::Kind::Passphrase;
        question.keyFile = "/home/me/.ssh/id";
        SshQuestionDialog dialog(question);
        QCOMPARE(dialog.field()->echoMode(), QLineEdit::Password);
        dialog.field()->setText(QStringLiteral("open sesame"));
        QCOMPARE(dialog.answer(), QStringLiteral("open sesame"));
    }

    void aRingCrossesEachWayOnceAndAServerTakesAll() {
        core::Topology topology = core::topologyOf(twoNodes());
        core::putOn(topology, "ddp", 3e6, 2);
        QCOMPARE(topology.worldSize(), 3);
        QCOMPARE(topology.nodes[1].ranks.front().rank, 2);
        // 2 (N-1) / N · K = 4 MB from each rank to the next: 1 → 2 there, 2 → 0 back.
        QCOMPARE(topology.links.front().bytesThere, 4e6);
        QCOMPARE(topology.links.front().bytesBack, 4e6);
        QCOMPARE(*topology.leastStepS(), 4e6 / 50e6);
        core::putOn(topology, "ps-sync", 3e6, 2);
        QCOMPARE(topology.links.front().bytesBack, 3e6); // rank 2 to rank 0
        QCOMPARE(topology.links.front().bytesThere, 3e6);
        double all = 0;
        for (const core::TopologyFlow &flow : topology.flows)
            all += flow.bytes;
        QCOMPARE(all, 2 * (3 - 1) * 3e6);
        core::addTraffic(topology, "ps-async", 3e6, {2}); // two servers share the parameters, and the traffic
        const auto sent = [&](int rank) {
            double bytes = 0;
            for (const core::TopologyFlow &flow : topology.flows)
                bytes += flow.from == rank ? flow.bytes : 0;
            return bytes;
        };
        QCOMPARE(sent(0), 1.5e6 * (2 + 1)); // parameters to both others, gradients to the other server
        QCOMPARE(sent(1), sent(0));
        QCOMPARE(sent(2), 3e6);
        core::addTraffic(topology, "ps-async", 3e6, {1, true}); // the last rank only serves
        QCOMPARE(sent(2), 2 * 3e6);
        QCOMPARE(sent(0), 3e6);
    }

    void whatWasNotMeasuredIsUnknown() {
        core::DoctorSnapshot snapshot = twoNodes();
        snapshot.links.clear();
        core::Topology topology = core::topologyOf(snapshot);
        core::putOn(topology, "ddp", 3e6, 2);
        QVERIFY(!topology.leastStepS());
        snapshot.nodes[1].facts.reset();
        topology = core::topologyOf(snapshot);
        core::putOn(topology, "ddp", 3e6, 2);
        QCOMPARE(topology.worldSize(), 2);
        QVERIFY(topology.nodes[1].ranks.empty());
    }

    void thePictureExplainsItsWordsWhereThePointerRests() {
        Theme theme;
        TopologyView view(theme);
        view.resize(900, 200);
        core::Topology topology = core::topologyOf(twoNodes());
        core::putOn(topology, "ddp", 3e6, 2);
        view.setTopology(topology);
        const QRectF area = view.rect();
        QVERIFY(view.hint(view.discOf(topology.nodes[0].ranks[0], area).center()).contains(QStringLiteral("Master")));
        QVERIFY(view.hint(view.discOf(topology.nodes[1].ranks[0], area).center()).contains(QStringLiteral("rank 2")));
        QVERIFY(view.hint(view.boxOf(1, area).topLeft() + QPointF(60, 10)).contains(QStringLiteral("Interface")));
        QVERIFY(view.hint(area.center()).contains(QStringLiteral("ring all-reduce")));
        QVERIFY(view.chartData().contains(QStringLiteral("n1\tn2\t0.0002\t100000000\t4000000")));
        for (std::size_t i = 0; i < 2; ++i)
            QVERIFY(area.contains(view.boxOf(i, area)));
    }

    void aRunsLinksAreToldApartFromItsState() {
        Theme theme;
        RunNodesView card(theme);
        core::RunStore run(QStringLiteral("20260102T030405Z-00000001"));
        RunRecord record;
        record.config = RunConfig();
        record.config->method = Method::Ddp;
        card.setRuns({&run});
        QVERIFY(card.isEmpty());
        record.config->nodes = *nodesFromText("hostA%bond0:0,1;hostB%eno1:0");
        run.setRecord(record);
        const auto send = [&](auto body) {
            Frame frame;
            frame.body = std::move(body);
            run.take(frame);
            card.setRuns({&run});
        };
        StateFrame training;
        training.state = RunState::Training;
        send(training);
        LinkFrame link;
        link.ofNode = 1;
        link.host = "hostB";
        link.link = "up";
        send(link);
        QCOMPARE(card.linksText(), QStringLiteral("Links: all up"));
        link.link = "lost";
        send(link);
        QCOMPARE(card.stateText(), QStringLiteral("Run: training"));
        QVERIFY(card.linksText().contains(QStringLiteral("link to hostB lost, its training state unknown")));
        QVERIFY(!card.topology()->topology().nodes[1].heard);
        link.link = "up";
        send(link);
        QCOMPARE(card.linksText(), QStringLiteral("Links: all up"));
        QVERIFY(card.topology()->topology().nodes[1].heard);
    }

    void eightNodesStandApart() {
        Theme theme;
        TopologyView view(theme);
        core::DoctorSnapshot snapshot;
        for (int i = 0; i < 8; ++i)
            snapshot.nodes.push_back(usable("n" + std::to_string(i), "10.0.0.1", 1));
        view.setTopology(core::topologyOf(snapshot));
        view.resize(1100, view.sizeHint().height());
        const QRectF area = view.rect();
        for (std::size_t a = 0; a < 8; ++a)
            for (std::size_t b = a + 1; b < 8; ++b)
                QVERIFY2(!view.boxOf(a, area).intersects(view.boxOf(b, area)), qPrintable(QString::number(a * 10 + b)));
    }

    void hundredsOfNodesAreASentence() {
        Theme theme;
        TopologyView view(theme);
        core::Topology topology;
        for (std::size_t i = 0; i < 300; ++i) {
            core::TopologyNode &node = topology.nodes.emplace_back();
            node.name = "n" + std::to_string(i);
            node.ranks = {{int(i), 0, i, "cpu:0"}};
        }
        topology.nodes[7].heard = false;
        view.setTopology(topology);
        QCOMPARE(view.summary(), QStringLiteral("300 nodes with 300 ranks: more than a picture can show. "
                                                "The training state of n7 is unknown."));
        QCOMPARE(view.sizeHint().height(), 150);
        view.resize(view.sizeHint());
        QVERIFY(view.hint(QRectF(view.rect()).center()).isEmpty());
        QVERIFY(!view.grab().isNull());
        topology.nodes.resize(8);
        view.setTopology(topology);
        QVERIFY(view.summary().isEmpty());
    }

private:
    std::unique_ptr<Home> m_home;
};

QTEST_MAIN(UiNodesTest)
#include "nodes_test.moc"
