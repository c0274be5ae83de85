// SPDX-License-Identifier: MIT
// Plan over nodes, with this machine as the node: real agent, real doctor. Several hosts: tests/e2e/window_nodes_test.cpp.
#include <QApplication>
#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>

#include "app/ui/charts/topology_view.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/plan/config_form.h"
#include "app/ui/pages/plan/plan_page.h"
#include "app/ui/pages/plan/queue_place.h"
#include "app/ui/pages/shared/device_picker.h"
#include "app/ui/pages/shared/finding_list.h"
#include "app/ui/pages/shared/node_picker.h"
#include "app/ui/pages/shared/plan_doctor.h"
#include "app/ui/pages/shared/run_nodes_card.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "models/plan_model.h"
#include "tests/qt_test.h"
#include "ui_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {} // namespace

class PlanNodesTest : public QObject {
    Q_OBJECT
    std::unique_ptr<uitest::Home> m_home;
    Theme m_theme{ThemeMode::Light};
    std::unique_ptr<Workspace> m_workspace;
    std::unique_ptr<PlanPage> m_page;

    void open() {
        m_page = std::make_unique<PlanPage>(m_theme, *m_workspace, uitest::twoCores());
        m_page->resize(1280, 760);
        m_page->show();
    }
    DeviceBox *firstBox(const char *node) {
        const NodePicker::Row *row = m_page->nodePicker()->row(QLatin1String(node));
        return row && row->devices && !row->devices->boxes().empty() ? row->devices->boxes().front() : nullptr;
    }

private Q_SLOTS:
    void init() {
        qputenv("LOCKSTEP_AGENT", LOCKSTEP_BIN "/lockstep-agent");
        m_home = std::make_unique<uitest::Home>();
        m_workspace = std::make_unique<Workspace>();
    }
    void cleanup() {
        m_page.reset();
        m_workspace.reset();
    }

    void withoutANodeTheNextStepIsOffered() {
        open();
        m_page->nodesButton()->click();
        QVERIFY(m_page->nodePicker()->addButton()->isVisible());
        QVERIFY(!m_page->startButton()->isEnabled());
        QVERIFY(m_page->mistakes().contains(QStringLiteral("No node")));
        QSignalSpy wanted(m_page.get(), &PlanPage::nodesWanted);
        m_page->nodePicker()->addButton()->click();
        QCOMPARE(int(wanted.count()), 1);
        m_page->hereButton()->click();
        QVERIFY(m_page->startButton()->isEnabled());
    }

    void nodesWithoutAChosenDeviceNeverBecomeARunHere() {
        uitest::addNode("here", "local", "");
        open();
        m_page->nodesButton()->click();
        QVERIFY(!m_page->startButton()->isEnabled());
        QVERIFY(m_page->mistakes().contains(QStringLiteral("Choose at least one device")));
    }

    void aPressOnADevicePutsTheRunThereAndSaysWhatTheNodeIs() {
        uitest::addNode("here", "local", "");
        open();
        m_page->nodesButton()->click();
        QTRY_VERIFY(firstBox("here"));
        QTest::mouseClick(firstBox("here"), Qt::LeftButton);
        const auto &places = m_page->nodePicker()->places();
        QCOMPARE(int(places.size()), 1);
        QCOMPARE(int(places[0].devices.size()), 1);
        QVERIFY(firstBox("here")->isChecked());
        const auto *row = m_page->nodePicker()->row(QStringLiteral("here"));
        QVERIFY2(row->part->text().contains(QStringLiteral("node 0 · master")), qPrintable(row->part->text()));
        for (const core::RunSpec &run : m_page->draft().effective().runs)
            QCOMPARE(int(run.config.nodes.size()), 1);
        m_page->hereButton()->click();
        for (const core::RunSpec &run : m_page->draft().effective().runs)
            QVERIFY(run.config.nodes.empty());
        m_page->nodesButton()->click(); // what was chosen is kept
        QCOMPARE(int(m_page->nodePicker()->places().size()), 1);
        QTest::mouseClick(firstBox("here"), Qt::LeftButton);
        QVERIFY(m_page->nodePicker()->places().empty());
    }

    void startAsksTheDoctorFirst() {
        uitest::addNode("here", "local", "");
        open();
        m_page->nodesButton()->click();
        QTRY_VERIFY(firstBox("here"));
        QTest::mouseClick(firstBox("here"), Qt::LeftButton);
        QVERIFY2(m_page->startButton()->isEnabled(), qPrintable(m_page->mistakes()));
        QSignalSpy started(m_page.get(), &PlanPage::startRequested);
        m_page->startButton()->click();
        QCOMPARE(int(started.count()), 0);
        QCOMPARE(m_page->startButton()->text(), QStringLiteral("Asking the doctor…"));
        QTRY_VERIFY(m_page->doctor()->asked());
        if (m_page->doctor()->anyError()) { // of this very machine
            QCOMPARE(m_page->startButton()->text(), QStringLiteral("Start anyway"));
            m_page->startButton()->click();
        }
        QCOMPARE(int(started.count()), 1);
    }

    void whatWouldStopTheRunIsReportedBeforeAndStartIsSaidTwice() {
        uitest::addNode("far", "ssh", "far.invalid");
        open();
        m_page->nodesButton()->click();
        auto *nodes = qobject_cast<QLineEdit *>(m_page->form()->field(QStringLiteral("nodes"))->editor);
        Q_EMIT m_page->form()->edited(QStringLiteral("nodes"), QStringLiteral("far.invalid%eth0:0 kind=cpu"));
        QVERIFY(nodes);
        QVERIFY2(m_page->startButton()->isEnabled(), qPrintable(m_page->mistakes()));
        QSignalSpy started(m_page.get(), &PlanPage::startRequested);
        m_page->startButton()->click();
        QTRY_VERIFY(m_page->doctor()->asked());
        QCOMPARE(int(started.count()), 0);
        QVERIFY2(m_page->doctor()->sentence().contains(QStringLiteral("1 error")),
                 qPrintable(m_page->doctor()->sentence()));
        QVERIFY(m_page->doctor()->findings()->count() >= 1);
        const QString state = m_page->plan().index(0, core::PlanModel::State).data().toString();
        QVERIFY2(state.startsWith(u"not run: ") && state.contains(u"far"), qPrintable(state));
        QVERIFY2(m_page->mistakes().contains(u"far"), qPrintable(m_page->mistakes()));
        uitest::picture(*m_page, m_theme, "plan-unreached");
        QCOMPARE(m_page->startButton()->text(), QStringLiteral("Start anyway"));
        m_page->startButton()->click();
        QCOMPARE(int(started.count()), 1);
    }

    void placesThatAreTypedAreShownAsChosen() {
        uitest::addNode("hostA", "ssh", "hostA.invalid");
        uitest::addNode("hostB", "ssh", "hostB.invalid");
        open();
        m_page->choose(QStringLiteral("free"));
        Q_EMIT m_page->form()->edited(QStringLiteral("nodes"),
                                      QStringLiteral("hostA.invalid%bond0:0,1 kind=cpu;hostB.invalid%eno1:0 kind=cpu"));
        Q_EMIT m_page->form()->edited(QStringLiteral("batch_size"), QStringLiteral("63"));
        QVERIFY(m_page->nodesButton()->isChecked());
        const auto *second = m_page->nodePicker()->row(QStringLiteral("hostB"));
        QCOMPARE(second->part->text(), QStringLiteral("node 1 · rank 2"));
        QCOMPARE(second->way->text(), QStringLiteral("eno1"));
        QVERIFY(m_page->commandText().contains(QStringLiteral("# node 1: hostB.invalid")) ||
                m_page->plan().rowCount() == 3);
        bool refused = false;
        for (int row = 0; row < m_page->plan().rowCount(); ++row)
            refused = refused || m_page->plan().runAt(row).notRunReason.find("can't span 2 nodes") != std::string::npos;
        QVERIFY(refused);
    }

    void theQueueMayLiveOnTheFirstNodeSoThatThisMachineMayLeave() {
        uitest::addNode("hostA", "ssh", "hostA.invalid");
        uitest::addNode("hostB", "ssh", "hostB.invalid");
        open();
        QVERIFY(!m_page->queuePlace()->isVisible()); // runs here have their queue here
        m_page->choose(QStringLiteral("free"));
        Q_EMIT m_page->form()->edited(QStringLiteral("nodes"),
                                      QStringLiteral("hostA.invalid%bond0:0 kind=cpu;hostB.invalid%eno1:0 kind=cpu"));
        QueuePlace *const place = m_page->queuePlace();
        QVERIFY(place->isVisible());
        QVERIFY(place->hereButton()->isChecked());
        QVERIFY(place->host().isEmpty());
        QVERIFY(place->noteText().contains(u"must stay on"));
        QCOMPARE(place->thereButton()->text(), QStringLiteral("hostA"));
        QTest::mouseClick(place->thereButton(), Qt::LeftButton);
        QCOMPARE(place->host(), QStringLiteral("hostA.invalid"));
        QVERIFY(place->noteText().contains(u"This machine may disconnect"));
        m_page->resize(1280, 800);
        uitest::picture(*m_page, m_theme, "plan-queue-on");
        QSignalSpy started(m_page.get(), &PlanPage::startRequested);
        m_page->startButton()->click(); // the doctor is asked, and finds nobody there
        QTRY_VERIFY(m_page->doctor()->asked());
        m_page->startButton()->click();
        QCOMPARE(int(started.count()), 1);
        QCOMPARE(started[0][0].value<core::StartRequest>().queueOn, std::string("hostA.invalid"));

        // With this machine among the nodes it can't leave: the choice is off, and says why.
        Q_EMIT m_page->form()->edited(QStringLiteral("nodes"),
                                      QStringLiteral("hostA.invalid%bond0:0 kind=cpu;.%eno1:0 kind=cpu"));
        QVERIFY(!place->thereButton()->isEnabled());
        QVERIFY(place->hereButton()->isChecked());
        QVERIFY(place->host().isEmpty());
        QVERIFY(place->noteText().contains(u"This machine is one of the nodes"));
        m_page->hereButton()->click();
        QVERIFY(!place->isVisible());
    }
};

QTEST_MAIN(PlanNodesTest)
#include "plan_nodes_test.moc"
