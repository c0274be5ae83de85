// SPDX-License-Identifier: MIT
// A run over three hosts, through the window as a person goes: add nodes, doctor, sync, choose devices of two of them, Start,
// watch, lose a link and have it back, stop. Started by window_nodes_test.py on the lab's laptop; what only the lab can do
// (cut a cable, look from outside) it asks for on stdout and waits for a line on stdin.
#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QToolButton>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>

#include "app/ui/charts/lane_view.h"
#include "app/ui/charts/topology_view.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/nodes/node_card.h"
#include "app/ui/pages/nodes/node_dialog.h"
#include "app/ui/pages/nodes/nodes_page.h"
#include "app/ui/pages/plan/config_form.h"
#include "app/ui/pages/plan/plan_page.h"
#include "app/ui/pages/shared/device_picker.h"
#include "app/ui/pages/shared/finding_list.h"
#include "app/ui/pages/shared/node_picker.h"
#include "app/ui/pages/shared/plan_doctor.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/status_strip.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "base/machine_facts.h"
#include "store/recent_data.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

/// Has the lab do something; returns when it is done.
void lab(const char *what) {
    std::printf("lab %s\n", what);
    std::fflush(stdout);
    std::string line;
    std::getline(std::cin, line);
    QCOMPARE(QString::fromStdString(line), QStringLiteral("done"));
}

} // namespace

class WindowNodesTest : public QObject {
    Q_OBJECT
    Theme m_theme{ThemeMode::Light};
    std::unique_ptr<Workspace> m_workspace;
    std::unique_ptr<MainWindow> m_window;
    QElapsedTimer m_timer;
    bool m_broken = false; ///< each step needs the one before

    /// Into the folder LOCKSTEP_SHOTS, light and dark, small and large; without it nothing.
    void picture(const char *name) {
        const QString folder = qEnvironmentVariable("LOCKSTEP_SHOTS");
        if (folder.isEmpty())
            return;
        QDir().mkpath(folder);
        const QSize before = m_window->size();
        for (const auto &[words, size] : {std::pair("", QSize(1280, 800)), {"-large", QSize(2560, 1440)}}) {
            m_window->resize(size);
            for (const auto mode : {ThemeMode::Light, ThemeMode::Dark}) {
                m_theme.setMode(mode);
                QTest::qWait(150);
                (void)m_window->grab().save(
                    folder + u'/' + QString::fromLatin1(name) + QString::fromLatin1(words) +
                    (mode == ThemeMode::Dark ? QStringLiteral("-dark.png") : QStringLiteral(".png")));
            }
        }
        m_theme.setMode(ThemeMode::Light);
        m_window->resize(before);
    }

    void said(const char *what) {
        std::printf("%5.1f s  %s\n", double(m_timer.elapsed()) / 1000, what);
        std::fflush(stdout);
    }

    PlanPage *plan() { return m_window->planPage(); }
    NodesPage *nodes() { return m_window->nodesPage(); }

    void add(const QString &host) {
        QTest::mouseClick(nodes()->addButton(), Qt::LeftButton);
        auto *dialog = nodes()->findChild<NodeDialog *>();
        QVERIFY(dialog);
        dialog->hostBox()->setEditText(host);
        dialog->agentField()->setText(qEnvironmentVariable("LOCKSTEP_AGENT"));
        QVERIFY2(dialog->addButton()->isEnabled(), qPrintable(dialog->mistake()));
        QTest::mouseClick(dialog->addButton(), Qt::LeftButton);
        QVERIFY(nodes()->card(host));
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        QVERIFY(!nodes()->findChild<NodeDialog *>());
    }

    void type(const char *key, const char *text) {
        auto *line = qobject_cast<QLineEdit *>(plan()->form()->field(QLatin1String(key))->editor);
        QVERIFY2(line, key);
        line->setFocus();
        line->selectAll();
        QTest::keyClicks(line, QLatin1String(text));
    }

    DeviceBox *box(const QString &node, int number) {
        const NodePicker::Row *row = plan()->nodePicker()->row(node);
        return row && row->devices && int(row->devices->boxes().size()) > number
                   ? row->devices->boxes()[std::size_t(number)]
                   : nullptr;
    }

    core::RunStore *run() {
        const auto stores = m_workspace->runs().stores();
        return stores.empty() ? nullptr : stores.front();
    }

private Q_SLOTS:
    void initTestCase() {
        if (qEnvironmentVariableIsEmpty("LOCKSTEP_LAB"))
            QSKIP("the lab's hosts are not there: window_nodes_test.py starts this");
        m_timer.start();
        m_workspace = std::make_unique<Workspace>();
        m_window = std::make_unique<MainWindow>(m_theme, *m_workspace, core::localMachineFacts());
        m_window->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_window.get()));
        connect(m_workspace.get(), &Workspace::failed, this,
                [](const QString &sentence) { std::printf("failed: %s\n", qPrintable(sentence)); });
    }

    void init() {
        if (m_broken)
            QSKIP("what it needs failed before");
    }
    void cleanup() {
        m_broken = m_broken || QTest::currentTestFailed();
        std::fflush(stdout);
    }

    void nodesAreAddedFromPlan() {
        QTest::mouseClick(plan()->nodesButton(), Qt::LeftButton);
        QVERIFY(plan()->nodePicker()->addButton()->isVisible());
        QVERIFY(!plan()->startButton()->isEnabled());
        picture("plan-0-nodes");
        QTest::mouseClick(plan()->nodePicker()->addButton(), Qt::LeftButton);
        QCOMPARE(m_window->page(), Page::Nodes);
        for (const char *host : {"hostA", "hostB", "hostC"})
            add(QLatin1String(host));
        said("added");
    }

    void theDoctorFindsTheInterfaceOfEach() {
        QTest::mouseClick(nodes()->doctorButton(), Qt::LeftButton);
        QTRY_VERIFY(nodes()->doctorText().contains(QStringLiteral("Checked at")));
        said(qPrintable(nodes()->doctorText()));
        QVERIFY2(nodes()->doctorText().startsWith(QStringLiteral("0 errors")), qPrintable(nodes()->doctorText()));
        const auto book = core::readNodes();
        QCOMPARE((*book)[0].interface, std::string("bond0"));
        QCOMPARE((*book)[1].interface, std::string("eno1"));
        QCOMPARE((*book)[2].interface, std::string("eth0"));
        picture("nodes-3");
    }

    void syncBringsThePrograms() {
        for (const char *host : {"hostA", "hostB"}) { // the two that will train
            QTest::mouseClick(nodes()->card(QLatin1String(host))->syncButton(), Qt::LeftButton);
            QCOMPARE(nodes()->syncAllButton()->text(), QStringLiteral("Cancel sync"));
            QTRY_COMPARE(nodes()->syncAllButton()->text(), QStringLiteral("Sync all"));
        }
        const auto book = *core::readNodes();
        for (int i = 0; i < 2; ++i)
            QVERIFY2(book[std::size_t(i)].agent.find("/sync/programs/current/") != std::string::npos,
                     book[std::size_t(i)].agent.c_str());
        said("synced");
    }

    void twoDevicesOfOneNodeAndOneOfAnotherAreChosen() {
        m_window->showPage(Page::Plan);
        QVERIFY(plan()->choose(QStringLiteral("free")));
        for (const Method method : {Method::Baseline, Method::Dp})
            plan()->form()->methodBox(method)->setChecked(method == Method::Dp);
        for (QToolButton *head : plan()->form()->findChildren<QToolButton *>(QStringLiteral("fold")))
            head->setChecked(true);
        type("train_samples", "3780");
        type("epochs", "1000");
        type("batch_size", "63");
        // The lab's hosts share this machine's cores, which the trainer sees.
        auto *shared = qobject_cast<QCheckBox *>(plan()->form()->field(QStringLiteral("oversubscribe"))->editor);
        QVERIFY(shared);
        shared->setChecked(true);
        for (QToolButton *head : plan()->form()->findChildren<QToolButton *>(QStringLiteral("fold")))
            head->setChecked(false);
        QTRY_VERIFY(box(QStringLiteral("hostA"), 1) && box(QStringLiteral("hostB"), 0) &&
                    box(QStringLiteral("hostC"), 0));
        QTest::mouseClick(box(QStringLiteral("hostA"), 0), Qt::LeftButton);
        QTest::mouseClick(box(QStringLiteral("hostA"), 1), Qt::LeftButton);
        QTest::mouseClick(box(QStringLiteral("hostB"), 0), Qt::LeftButton);
        const auto places = plan()->nodePicker()->places();
        QCOMPARE(int(places.size()), 2);
        QCOMPARE(places[0].host, std::string("hostA"));
        QCOMPARE(places[0].interface, std::string("bond0"));
        QCOMPARE(int(places[0].devices.size()), 2);
        QCOMPARE(places[1].interface, std::string("eno1"));
        const auto *second = plan()->nodePicker()->row(QStringLiteral("hostB"));
        QVERIFY2(second->part->text().contains(QStringLiteral("rank 2")), qPrintable(second->part->text()));
        said("chosen");
    }

    void dpIsRefusedWithTheReasonAndTorchrunIsShownForEachNode() {
        bool refused = false;
        for (int row = 0; row < plan()->plan().rowCount(); ++row)
            refused = refused || plan()->plan().runAt(row).notRunReason.find("can't span 2 nodes") != std::string::npos;
        QVERIFY(refused);
        picture("plan-3-nodes");
        plan()->form()->methodBox(Method::Dp)->setChecked(false);
        const QString commands = plan()->commandText();
        QVERIFY2(commands.contains(QStringLiteral("# node 0: hostA")) &&
                     commands.contains(QStringLiteral("--node-rank 1")) &&
                     commands.contains(QStringLiteral("--interface=eno1")),
                 qPrintable(commands));
    }

    void startAsksTheDoctorAndThenTrainsOverBoth() {
        QVERIFY2(plan()->startButton()->isEnabled(), qPrintable(plan()->mistakes()));
        QTest::mouseClick(plan()->startButton(), Qt::LeftButton);
        QCOMPARE(plan()->startButton()->text(), QStringLiteral("Asking the doctor…"));
        QTRY_VERIFY(plan()->doctor()->asked());
        QVERIFY2(!plan()->doctor()->anyError(), qPrintable(plan()->doctor()->sentence()));
        said("the doctor allows it");
        picture("plan-asked");
        QTRY_COMPARE(m_window->page(), Page::Live);
        said("live");
        QTRY_VERIFY(run() && run()->losses().ofRank(2) && run()->losses().ofRank(2)->points().size() > 0);
        QCOMPARE(run()->ranks().expected(), 3);
        QTRY_VERIFY(run()->links().sentence().contains(QStringLiteral("all links up")));
        said("trains");
        picture("live-up");
    }

    void aCutLinkIsToldApartFromTheRunAndLosesNothing() {
        const std::uint64_t before = run()->log().frames;
        lab("cut hostB");
        QTRY_VERIFY(core::linkToNodeLost(*run()));
        said("link lost");
        QTRY_VERIFY(m_workspace->strip().lostNodes().contains(QStringLiteral("training state unknown")));
        QVERIFY(!run()->over());
        // Of hostA's two devices the lanes go on; of hostB's nothing is known.
        const auto unknownLanes = [this] {
            const QList<Lane> &lanes = m_window->livePage()->lanes()->lanes();
            return std::count_if(lanes.begin(), lanes.end(), [](const Lane &lane) {
                return lane.value == u"-" && lane.noRecentData.contains(u"hostB");
            });
        };
        QTRY_COMPARE(int(unknownLanes()), 1);
        QTest::qWait(300);
        picture("live-lost");
        lab("restore hostB");
        QTRY_VERIFY(!core::linkToNodeLost(*run()));
        QTRY_COMPARE(int(unknownLanes()), 0);
        QTRY_VERIFY(run()->log().frames > before + 100);
        said("link is back");
    }

    void aStopEndsItEverywhere() {
        QVERIFY(m_window->strip()->stopButton()->isVisibleTo(m_window.get()));
        QTest::mouseClick(m_window->strip()->stopButton(), Qt::LeftButton);
        QTRY_VERIFY(m_workspace->complete() && m_workspace->settled());
        QVERIFY2(run()->lifecycle().sentence().startsWith(QStringLiteral("stopped")),
                 qPrintable(run()->lifecycle().sentence()));
        QVERIFY2(run()->log().gaps.empty(), "frames are missing");
        said("stopped");
        m_window->showPage(Page::Live);
        picture("live-stopped");
        // What the window followed is what agent 0 wrote, line for line: the lab compares the logs.
        std::printf("run %s frames %lld\n", qPrintable(run()->runId()), static_cast<long long>(run()->log().frames));
        std::fflush(stdout);
    }

    void cleanupTestCase() {
        m_window.reset();
        m_workspace.reset();
    }
};

QTEST_MAIN(WindowNodesTest)
#include "window_nodes_test.moc"
