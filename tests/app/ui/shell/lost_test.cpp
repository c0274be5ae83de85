// SPDX-License-Identifier: MIT
// What Live shows of a run while nothing is heard of it, or of one of its nodes: unknown, and why.
#include <QFile>
#include <QLabel>

#include "app/ui/charts/lane_view.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/status_strip.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "models/run_topology.h"
#include "queue/named_places.h"
#include "tests/qt_test.h"
#include "ui_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

class LostTest : public QObject {
    Q_OBJECT
    uitest::Home m_home;
    Theme m_theme{ThemeMode::Light};
    Workspace m_workspace;
    std::unique_ptr<MainWindow> m_window;

    [[nodiscard]] LivePage *page() const { return m_window->livePage(); }

private Q_SLOTS:
    void initTestCase() {
        const std::string id = uitest::writeExperimentOnDisk();
        m_window = std::make_unique<MainWindow>(m_theme, m_workspace, uitest::twoCores());
        m_window->resize(1280, 800);
        m_window->show();
        QVERIFY(m_workspace.open(QString::fromStdString(id)));
        QTRY_VERIFY(m_workspace.complete() && m_workspace.settled());
        m_window->showPage(Page::Live);
    }
    void cleanupTestCase() { m_window.reset(); }

    void aDeviceBehindALostLinkShowsNothingAsIfItWereNow() {
        core::RunStore store;
        std::int64_t atUs = 1'767'323'045'000'000;
        const auto take = [&](FrameBody body, int node) {
            Frame frame;
            frame.wallUs = atUs += 200'000;
            frame.monoNs = frame.wallUs * 1000;
            frame.node = node;
            frame.body = std::move(body);
            store.take(frame);
        };
        const auto sample = [&](const char *device, double use, int node) {
            DeviceFrame frame;
            frame.intervalS = 0.2;
            DeviceSample one;
            one.device = device;
            one.kind = "cpu";
            one.utilization = use;
            frame.devices = {one};
            take(frame, node);
        };
        const auto link = [&](const char *state) {
            LinkFrame frame;
            frame.ofNode = 1;
            frame.host = "hostB";
            frame.link = state;
            frame.reason = "nothing was heard for 6 s";
            take(frame, 0);
        };
        RunRecord record;
        record.run = "20260102T030405Z-0000aaaa";
        record.name = "over two";
        record.config.emplace();
        record.config->method = Method::Ddp;
        record.config->nodes = *nodesFromText("hostA%bond0:0;hostB%eno1:0");
        record.processes = 2;
        record.deviceNames = {"hostA/cpu:0", "hostB/cpu:0"};
        store.setRecord(record);
        store.setLink(core::LinkState::Live);
        StateFrame training;
        training.state = RunState::Training;
        take(training, 0);
        link("up");
        for (int i = 0; i < 20; ++i) {
            sample("hostA/cpu:0", 0.9, 0);
            sample("hostB/cpu:0", 0.8, 1);
        }
        m_workspace.runs().add(&store);
        const auto lane = [&](const QString &device) {
            for (const Lane &one : page()->lanes()->lanes())
                if (one.runId == store.runId() && one.device == device)
                    return one;
            return Lane();
        };
        const QString near = QStringLiteral("hostA/cpu:0"), far = QStringLiteral("hostB/cpu:0");
        QTRY_COMPARE(lane(far).value, QStringLiteral("80 %"));

        link("lost");
        for (int i = 0; i < 40; ++i)
            sample("hostA/cpu:0", 0.9, 0);
        QTRY_COMPARE(lane(far).value, QStringLiteral("-"));
        QVERIFY2(lane(far).noRecentData.contains(QStringLiteral("link to hostB lost")),
                 qPrintable(lane(far).noRecentData));
        QVERIFY(lane(far).hint.contains(QStringLiteral("nothing was heard for 6 s")));
        QCOMPARE(lane(near).value, QStringLiteral("90 %"));
        QVERIFY(lane(near).noRecentData.isEmpty());
        // Its past is where it was: behind what the other one has reported since.
        QVERIFY(lane(far).samples.constLast().x() < lane(near).samples.constLast().x() - 5);
        QVERIFY(lane(far).hint.contains(QStringLiteral("link to hostB lost")));
        if (const QString folder = qEnvironmentVariable("LOCKSTEP_SHOTS"); !folder.isEmpty())
            for (const ThemeMode mode : {ThemeMode::Light, ThemeMode::Dark}) {
                m_theme.setMode(mode);
                QTest::qWait(200);
                (void)m_window->grab().save(folder +
                                            (mode == ThemeMode::Dark ? "/live-lost-dark.png" : "/live-lost.png"));
            }

        link("up");
        sample("hostB/cpu:0", 0.7, 1);
        QTRY_COMPARE(lane(far).value, QStringLiteral("80 %")); // its mean again, of 21 samples
        QVERIFY2(lane(far).hint.contains(QStringLiteral("latest sample: 70 %")), qPrintable(lane(far).hint));

        store.setLink(core::LinkState::Lost, QStringLiteral("link lost, training state unknown (ssh has ended)"));
        QTRY_COMPARE(lane(near).value, QStringLiteral("-"));
        QCOMPARE(lane(far).value, QStringLiteral("-"));
        QCOMPARE(core::linksLine(store),
                 QStringLiteral("Links: unknown, link lost, training state unknown (ssh has ended)"));
        QCOMPARE(core::runLine(store), QStringLiteral("Run: state unknown"));
        for (const core::TopologyNode &node : core::topologyOf(store).nodes)
            QVERIFY(!node.heard);
        store.setLink(core::LinkState::AgentDied, QStringLiteral("failed: agent died"));
        QTRY_VERIFY(lane(near).value.endsWith(u'%')); // over: the mean of what was measured, and said so
        QVERIFY(lane(near).hint.contains(QStringLiteral("mean over the samples shown")));
        m_workspace.runs().remove(&store);
    }

    // The run's folder is a copy of one elsewhere, and the way there is broken.
    void progressOfARunThatIsNotHeardReadsUnknown() {
        auto plan = core::expand(*core::loadRecipe("lenet-dp-vs-ddp"), uitest::twoCores(), {});
        QVERIFY(plan.has_value());
        uitest::RunWriter writer(plan->runs.back(), "", 47, 1'767'323'045'000'000, {});
        writer.begin();
        writer.epoch(1);
        writer.alert("the last that was heard"); // and on disk
        writer.watched(0.1);
        QFile ssh(m_home.path() + "/ssh");
        QVERIFY(ssh.open(QIODevice::WriteOnly));
        ssh.write("#!/bin/sh\necho 'no route to host' >&2\nexit 255\n");
        ssh.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        ssh.close();
        const std::string origin =
            "{\"host\":\"far\",\"agent\":\"lockstep-agent\",\"prefix\":[\"" + ssh.fileName().toStdString() + "\"]}";
        QVERIFY(realFileSystem().writeAtomically(writer.folder.origin(), origin).has_value());
        QVERIFY(core::acceptPlacesOf(writer.run).has_value());
        Workspace workspace;
        StatusStrip strip(m_theme, workspace);
        strip.show();
        QVERIFY(workspace.open(QString::fromStdString(writer.run)));
        const auto shows = [&](QStringView words) {
            const auto labels = strip.findChildren<QLabel *>();
            return std::any_of(labels.begin(), labels.end(), [&](const QLabel *label) {
                return label->isVisible() && label->text().contains(words);
            });
        };
        QTRY_VERIFY(workspace.strip().now().noRecentData.contains(u"link lost"));
        QVERIFY(workspace.strip().now().active);
        QVERIFY(!workspace.strip().now().fraction && workspace.strip().now().left.isEmpty());
        QTRY_VERIFY(shows(u"link lost, training state unknown"));
        QVERIFY(shows(u"-"));
        QVERIFY(!shows(u"%"));
        QVERIFY(!shows(u"left"));
    }
};

QTEST_MAIN(LostTest)
#include "lost_test.moc"
