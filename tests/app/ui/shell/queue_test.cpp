// SPDX-License-Identifier: MIT
// The queue's panel and the strip's buttons, by mouse and keys; and who may press them.
#include <QApplication>
#include <QLabel>
#include <QListView>
#include <QMessageBox>
#include <QProcess>
#include <QPushButton>
#include <QSignalSpy>
#include <QTextDocumentFragment>

#include <nlohmann/json.hpp>

#include "app/ui/shell/queue_panel.h"
#include "app/ui/shell/status_strip.h"
#include "app/ui/shell/strip_state.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/elided_label.h"
#include "ipc/process_stat.h"
#include "ipc/unix_socket.h"
#include "queue/control_seat.h"
#include "queue/experiment_follower.h"
#include "queue/queue_origin.h"
#include "tests/app/asked_requests.h"
#include "tests/qt_test.h"
#include "ui_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;
using Kind = core::QueueRequest::Kind;

class QueueTest : public QObject {
    Q_OBJECT
    std::unique_ptr<uitest::Home> m_home;
    std::optional<FileLock> m_owner; ///< the queue has an owner: this process
    std::string m_id;
    Theme m_theme{ThemeMode::Light};
    std::unique_ptr<Workspace> m_workspace;
    std::unique_ptr<StatusStrip> m_strip;

    [[nodiscard]] std::vector<core::QueueRequest> asked() {
        return lockstep::test::takeRequests(core::experimentFolder(m_id));
    }
    void openWindow() {
        m_workspace = std::make_unique<Workspace>();
        m_strip = std::make_unique<StatusStrip>(m_theme, *m_workspace);
        m_strip->resize(1280, 48);
        m_strip->show();
        QVERIFY(m_workspace->open(QString::fromStdString(m_id)).has_value());
        m_workspace->attachToRunning();
    }
    /// Another viewer, a process that lives.
    void sitElsewhere(qint64 pid) {
        const ProcessStat stat = processStatOf(pid_t(pid)).value_or(ProcessStat());
        const nlohmann::json json = {{"generation", 5},
                                     {"by", "lockstep elsewhere"},
                                     {"host", QSysInfo::machineHostName().toStdString()},
                                     {"pid", pid},
                                     {"started", bootId() + "/" + std::to_string(stat.startTicks)}};
        QVERIFY(realFileSystem()
                    .writeAtomically(core::experimentFolder(m_id).path + "/control.json", json.dump())
                    .has_value());
    }

    /// Its runs end, as their owner writes it.
    void finish() {
        auto experiment = core::readExperiment(m_id);
        for (core::ExperimentEntry &entry : experiment->entries)
            if (entry.state == core::EntryState::Queued)
                entry.state = core::EntryState::Done;
        QVERIFY(core::writeExperiment(*experiment).has_value());
        m_owner.reset();
    }
    static QMessageBox *question() {
        for (QWidget *widget : QApplication::topLevelWidgets())
            if (auto *box = qobject_cast<QMessageBox *>(widget); box && box->isVisible())
                return box;
        return nullptr;
    }
    static QPushButton *buttonOf(QWidget *parent, QStringView text) {
        const auto buttons = parent->findChildren<QPushButton *>();
        const auto found = std::ranges::find(buttons, text, &QPushButton::text);
        return found == buttons.end() ? nullptr : *found;
    }

private Q_SLOTS:
    void init() {
        m_home = std::make_unique<uitest::Home>();
        m_id = uitest::writeUnfinishedExperiment();
        auto lock = FileLock::acquire(core::experimentFolder(m_id).lock());
        QVERIFY(lock.has_value());
        m_owner.emplace(std::move(*lock));
    }
    void cleanup() {
        m_strip.reset();
        m_workspace.reset();
        m_owner.reset();
    }

    void thePanelMovesSkipsAndRunsAgain() {
        openWindow();
        QVERIFY(m_strip->queueButton()->isVisible());
        QTest::mouseClick(m_strip->queueButton(), Qt::LeftButton);
        QueuePanel *panel = m_strip->queuePanel();
        QVERIFY(panel->isVisible());
        const core::ExperimentModel &queue = m_workspace->strip().queue();
        int firstWaiting = 0;
        while (queue.placeAt(firstWaiting) != 0)
            ++firstWaiting;
        panel->list()->setCurrentIndex(queue.index(firstWaiting));
        QVERIFY(!panel->upButton()->isEnabled()); // it is the first already
        QVERIFY(!panel->retryButton()->isEnabled());
        QTest::mouseClick(panel->downButton(), Qt::LeftButton);
        std::vector<core::QueueRequest> requests;
        QTest::keyClick(panel->list(), Qt::Key_Delete);
        const auto waiting = [&] { // a shortcut's click comes a moment later
            for (const core::QueueRequest &one : asked())
                requests.push_back(one);
            return requests.size();
        };
        QTRY_COMPARE(waiting(), std::size_t(2));
        panel->list()->setCurrentIndex(queue.index(0));
        QVERIFY(!panel->skipButton()->isEnabled());
        QTest::mouseClick(panel->retryButton(), Qt::LeftButton);
        QCOMPARE(waiting(), std::size_t(3));
        QVERIFY(requests[0].kind == Kind::Move && requests[0].entry == queue.entryAt(firstWaiting));
        QCOMPARE(requests[0].to, 1);
        QVERIFY(requests[1].kind == Kind::Skip && requests[1].entry == queue.entryAt(firstWaiting));
        QVERIFY(requests[2].kind == Kind::Retry && requests[2].entry == 0);
        QVERIFY(requests[2].by.starts_with("lockstep on "));
        QCOMPARE(requests[2].generation, std::optional<std::uint64_t>(1));
    }

    void theStripPausesAndGoesOn() {
        openWindow();
        QVERIFY(m_strip->pauseButton()->isVisible());
        QCOMPARE(m_strip->pauseButton()->text(), QStringLiteral("Pause"));
        QTest::mouseClick(m_strip->pauseButton(), Qt::LeftButton);
        auto requests = asked();
        QCOMPARE(requests.size(), std::size_t(1));
        QVERIFY(requests[0].kind == Kind::Pause);
        auto experiment = core::readExperiment(m_id);
        experiment->pausedBy = "lockstep on box"; // as its owner writes it
        QVERIFY(core::writeExperiment(*experiment).has_value());
        QTRY_COMPARE(m_strip->pauseButton()->text(), QStringLiteral("Resume"));
        QTest::mouseClick(m_strip->pauseButton(), Qt::LeftButton);
        requests = asked();
        QCOMPARE(requests.size(), std::size_t(1));
        QVERIFY(requests[0].kind == Kind::Resume);
    }

    void aSecondWindowIsReadOnlyUntilItTakesOver() {
        QProcess other;
        other.start(QStringLiteral("/bin/sleep"), {QStringLiteral("60")});
        QVERIFY(other.waitForStarted());
        sitElsewhere(other.processId());
        openWindow();
        QTRY_VERIFY(m_strip->takeOverButton()->isVisible());
        QVERIFY(!m_strip->stopButton()->isEnabled());
        QVERIFY(!m_strip->pauseButton()->isEnabled());
        const QString tip = m_strip->takeOverButton()->toolTip();
        QVERIFY2(tip.contains(QStringLiteral("lockstep elsewhere (pid %1)").arg(other.processId())), qPrintable(tip));
        QTest::mouseClick(m_strip->takeOverButton(), Qt::LeftButton);
        QVERIFY(!m_strip->takeOverButton()->isVisible());
        QVERIFY(m_strip->stopButton()->isEnabled());
        QVERIFY(core::controlHolder(m_id)->isMe());
        QCOMPARE(core::controlHolder(m_id)->generation, std::uint64_t(6));
        sitElsewhere(other.processId()); // and is taken over in turn
        QTRY_VERIFY(m_strip->takeOverButton()->isVisible());
        QVERIFY(!m_strip->stopButton()->isEnabled());
        other.kill();
        other.waitForFinished();
        QTRY_VERIFY(m_strip->stopButton()->isEnabled()); // the seat is free again
    }

    void anExperimentThatIsOverIsTakenOverToo() {
        finish();
        QProcess other;
        other.start(QStringLiteral("/bin/sleep"), {QStringLiteral("60")});
        QVERIFY(other.waitForStarted());
        sitElsewhere(other.processId());
        openWindow();
        QTRY_VERIFY(m_strip->takeOverButton()->isVisible());
        QVERIFY(m_workspace->suggested().whyNotTry().contains(u"take over first"));
        QTest::mouseClick(m_strip->takeOverButton(), Qt::LeftButton);
        QVERIFY(!m_strip->takeOverButton()->isVisible());
        QVERIFY(m_workspace->suggested().mayTry());
        sitElsewhere(other.processId());
        QTRY_VERIFY(m_strip->takeOverButton()->isVisible());
        other.kill(); // its window is gone
        other.waitForFinished();
        QTRY_VERIFY(!m_strip->takeOverButton()->isVisible());
    }

    void controlIsGivenUpOnLeavingAnExperimentThatIsOver() {
        const std::string next = uitest::writeExperimentOnDisk({.firstRun = 30});
        openWindow();
        QTRY_VERIFY(core::controlHolder(m_id) && core::controlHolder(m_id)->isMe());
        finish();
        QTRY_VERIFY(!m_workspace->strip().now().active);
        QVERIFY(m_workspace->open(QString::fromStdString(next)).has_value());
        QTRY_COMPARE(core::controlHolder(m_id)->pid, 0);
    }

    void wordsHoweverLongLeaveTheButtonsInTheStrip() {
        auto experiment = core::readExperiment(m_id);
        experiment->title = std::string(200, 'T') + " 模型训练比较";
        for (core::ExperimentEntry &entry : experiment->entries)
            entry.planned.name = std::string(90, 'n');
        QVERIFY(core::writeExperiment(*experiment).has_value());
        openWindow();
        m_strip->resize(1024, m_strip->height());
        QTRY_VERIFY(m_strip->stopButton()->isVisible());
        QCoreApplication::processEvents();
        QCOMPARE(m_strip->width(), 1024);
        QVERIFY(m_strip->stopButton()->geometry().right() <= 1024);
        const auto labels = m_strip->findChildren<QLabel *>();
        const auto title = std::ranges::find_if(
            labels, [&](const QLabel *label) { return label->text().contains(QStringLiteral("模型训练比较")); });
        QVERIFY(title != labels.end() && (*title)->width() > 100); // all of it is there to be read by others
        uitest::picture(*m_strip, m_theme, "strip-long");
    }

    void stopSaysWhatItStopsAndAsksBeforeItDropsAQueue() {
        const std::string other = uitest::writeExperimentOnDisk({.firstRun = 30});
        openWindow();
        const QString title = QString::fromStdString(core::readExperiment(m_id)->title);
        QTRY_VERIFY(m_strip->stopButton()->isVisible());
        QVERIFY2(m_strip->stopButton()->toolTip().contains(title), qPrintable(m_strip->stopButton()->toolTip()));
        QVERIFY(m_strip->stopButton()->toolTip().contains(QStringLiteral("2 queued runs")));
        QVERIFY(m_workspace->open(QString::fromStdString(other)).has_value());
        QTRY_COMPARE(m_workspace->strip().runningElsewhere(), QString::fromStdString(m_id));
        QTRY_VERIFY(m_strip->watchAction()->isEnabled());
        QCOMPARE(m_strip->stopButton()->text(), QStringLiteral("Stop")); // there is no room for more
        QVERIFY(m_strip->stopButton()->toolTip().contains(title));
        m_strip->resize(1920, m_strip->height());
        QTRY_COMPARE(m_strip->stopButton()->text(), QStringLiteral("Stop the running experiment"));
        QVERIFY(m_workspace->open(QString::fromStdString(m_id)).has_value());
        QTRY_COMPARE(m_strip->stopButton()->text(), QStringLiteral("Stop"));

        QTest::mouseClick(m_strip->stopButton(), Qt::LeftButton);
        QTRY_VERIFY(question());
        QVERIFY(asked().empty());
        QVERIFY(question()->defaultButton()->text() == QStringLiteral("Cancel"));
        QTest::keyClick(question(), Qt::Key_Escape);
        QTRY_VERIFY(!question());
        QVERIFY(asked().empty());
        m_strip->activateWindow();
        QTest::mouseClick(m_strip->stopButton(), Qt::LeftButton);
        QTRY_VERIFY(question() && question()->focusWidget());
        QTest::keyClick(question()->focusWidget(), Qt::Key_Return); // pressed without reading
        QTRY_VERIFY(!question());
        QVERIFY(asked().empty());
        m_strip->activateWindow();
        QTest::mouseClick(m_strip->stopButton(), Qt::LeftButton);
        QTRY_VERIFY(question());
        uitest::picture(*question(), m_theme, "stop-asks");
        QTest::mouseClick(buttonOf(question(), u"Drop 2 runs"), Qt::LeftButton);
        QTRY_VERIFY(!question());
        const auto requests = asked();
        QVERIFY(requests.size() == 1 && requests[0].kind == Kind::Stop);
    }

    void inANarrowStripTheTitleAndWhatAPressDoesAreReadable() {
        auto experiment = core::readExperiment(m_id);
        experiment->title = std::string(60, 'T');
        core::ExperimentEntry &entry = experiment->entries[std::size_t(experiment->queued().front())];
        entry.state = core::EntryState::Failed;
        entry.run = "20260102T030500Z-00000099";
        entry.reason = "rank 1 on box1 was killed by SIGKILL";
        QVERIFY(core::writeExperiment(*experiment).has_value());
        const std::string other = uitest::writeExperimentOnDisk({.firstRun = 30});
        openWindow();
        QVERIFY(m_workspace->open(QString::fromStdString(other)).has_value());
        m_strip->resize(1024, m_strip->height());
        const auto label = [this](const QString &text) {
            const auto labels = m_strip->findChildren<ElidedLabel *>();
            const auto found = std::ranges::find_if(
                labels, [&](const ElidedLabel *one) { return one->text() == text && one->isVisible(); });
            return found == labels.end() ? nullptr : *found;
        };
        const QString watch = QStringLiteral("press to watch it");
        QTRY_VERIFY(label(watch));
        QTRY_COMPARE(label(watch)->shownText(), watch);
        ElidedLabel *title = label(QString::fromStdString(experiment->title));
        QVERIFY(title);
        QTRY_VERIFY(title->width() >= 96);
        uitest::picture(*m_strip, m_theme, "strip-narrow");
    }

    void anExperimentThatHasEndedIsNotOfferedToBeWatchedAsTheRunningOne() {
        const std::string other = uitest::writeExperimentOnDisk({.firstRun = 30});
        openWindow();
        QVERIFY(m_workspace->open(QString::fromStdString(other)).has_value());
        StripState &state = m_workspace->strip();
        QTRY_COMPARE(state.runningElsewhere(), QString::fromStdString(m_id));
        bool stale = false;
        const QObject untilTheEnd;
        connect(&state, &StripState::changed, &untilTheEnd, [&] {
            const core::ExperimentFollower *follower = state.queue().follower();
            stale = stale || (follower && follower->experiment().over() && !state.runningElsewhere().isEmpty());
        });
        finish();
        QTRY_VERIFY(state.runningElsewhere().isEmpty());
        QVERIFY(!stale);
    }

    void aQueueThatNobodyOwnsIsShownUnaskedOnlyWhileARunOfItReallyGoesOn() {
        m_owner.reset();
        auto experiment = core::readExperiment(m_id);
        core::ExperimentEntry &entry = experiment->entries[std::size_t(experiment->queued().front())];
        entry.state = core::EntryState::Running;
        entry.run = "20260102T030500Z-00000099";
        QVERIFY(core::writeExperiment(*experiment).has_value());
        Workspace workspace;
        QVERIFY(!workspace.attachToRunning()); // only its document says so
        QVERIFY(realFileSystem().makeFolders(runFolder(entry.run).path).has_value());
        const auto agent = FileLock::acquire(runFolder(entry.run).lock(0));
        QVERIFY(agent.has_value());
        QVERIFY(workspace.attachToRunning());
        QCOMPARE(workspace.openId(), QString::fromStdString(m_id));
    }

    void theCurrentRunAloneIsStoppedWhileTheQueueGoesOn() {
        auto experiment = core::readExperiment(m_id);
        const std::vector<int> waiting = experiment->queued();
        QVERIFY(waiting.size() >= 2);
        core::ExperimentEntry &first = experiment->entries[std::size_t(waiting.front())];
        first.state = core::EntryState::Running;
        first.run = "20260102T030500Z-00000099";
        QVERIFY(core::writeExperiment(*experiment).has_value());
        openWindow();
        QTRY_VERIFY(m_strip->stopButton()->isVisible());
        QTest::mouseClick(m_strip->stopButton(), Qt::LeftButton);
        QTRY_VERIFY(question());
        QPushButton *one = buttonOf(question(), u"Stop the current run");
        QVERIFY(one && !one->shortcut().isEmpty());
        QTest::mouseClick(one, Qt::LeftButton);
        QTRY_VERIFY(!question());
        const auto requests = asked();
        QCOMPARE(requests.size(), std::size_t(1));
        QVERIFY(requests[0].kind == Kind::Skip);
        QCOMPARE(requests[0].entry, waiting.front());
        QVERIFY(core::apply(requests[0], *experiment).has_value());
        QCOMPARE(experiment->queued().size(), waiting.size() - 1); // those behind it still wait
    }

    void aFailedRunIsABadgeWithItsConsoleOnePressAway() {
        auto experiment = core::readExperiment(m_id);
        const int failed = experiment->queued().front();
        core::ExperimentEntry &entry = experiment->entries[std::size_t(failed)];
        entry.state = core::EntryState::Failed;
        entry.run = "20260102T030500Z-00000099";
        entry.reason = "rank 1 killed (SIGKILL) on host box1, step 412";
        QVERIFY(core::writeExperiment(*experiment).has_value());
        openWindow();
        QPushButton *badge = m_strip->failedButton();
        QTRY_VERIFY(badge->isVisible());
        const QString name = QString::fromStdString(entry.planned.name);
        QCOMPARE(badge->text(), name + QStringLiteral(" failed"));
        QVERIFY2(badge->toolTip().startsWith(
                     name + QStringLiteral(" failed: rank 1 killed (SIGKILL) on host box1, step 412\n")),
                 qPrintable(badge->toolTip()));
        uitest::picture(*m_strip, m_theme, "strip-failed");
        QSignalSpy console(m_strip.get(), &StatusStrip::consoleWanted);
        QTest::mouseClick(badge, Qt::LeftButton);
        QCOMPARE(console.count(), 1);
        QCOMPARE(console[0][0].toString(), QString::fromStdString(entry.run));

        QTest::mouseClick(m_strip->queueButton(), Qt::LeftButton);
        QueuePanel *panel = m_strip->queuePanel();
        QVERIFY(panel->isVisible());
        for (int row = 0; row < m_workspace->strip().queue().rowCount(); ++row)
            if (m_workspace->strip().queue().entryAt(row) == failed)
                panel->list()->setCurrentIndex(m_workspace->strip().queue().index(row));
        uitest::picture(*panel, m_theme, "queue-failed");
        QTest::keyClick(panel, Qt::Key_C);
        QTRY_COMPARE(console.count(), 2);
        QCOMPARE(console[1][0].toString(), QString::fromStdString(entry.run));

        entry.planned.name = QString(40, QChar(0x8bad)).toStdString(); // however long: the buttons keep their room
        QVERIFY(core::writeExperiment(*experiment).has_value());
        QTRY_VERIFY(badge->text().contains(QChar(0x2026)));
        m_strip->resize(1024, 48);
        QTRY_VERIFY(m_strip->stopButton()->geometry().right() <= 1024);
        QVERIFY(badge->toolTip().contains(QString(40, QChar(0x8bad))));
        uitest::picture(*m_strip, m_theme, "strip-failed-long");
        entry.planned.name = "<b>DDP</b>"; // no markup
        QVERIFY(core::writeExperiment(*experiment).has_value());
        QTRY_VERIFY(QTextDocumentFragment::fromHtml(badge->toolTip()).toPlainText().startsWith("<b>DDP</b> failed"));
        entry.planned.name = "DDP on 2 devices";
        entry.planned.repeat = 2;
        entry.planned.repeats = 3;
        QVERIFY(core::writeExperiment(*experiment).has_value());
        QTRY_VERIFY2(badge->text().startsWith(u"DDP ") && badge->text().endsWith(u" #2 failed"),
                     qPrintable(badge->text())); // not "(2 of 3) failed"
        QVERIFY(badge->toolTip().startsWith(QStringLiteral("DDP on 2 devices #2 failed")));
        entry.state = core::EntryState::Queued; // it is made again
        QVERIFY(core::writeExperiment(*experiment).has_value());
        QTRY_VERIFY(!badge->isVisible());
    }

    void aRunsNameHasTheRoomThatItsStateLeaves() {
        QCOMPARE(QueueRowDelegate::nameRoom(400, 300, 30), 300);
        QCOMPARE(QueueRowDelegate::nameRoom(400, 390, 30), 370);
        QCOMPARE(QueueRowDelegate::nameRoom(400, 390, 5'000), 200); // a long reason leaves it half
        QCOMPARE(QueueRowDelegate::nameRoom(400, 100, 5'000), 100);
        for (const double size : {11.0, 11.3, 12.25, 12.6, 13.1, 14.4})
            for (const QString &state : {QStringLiteral("running"), QStringLiteral("queued"), QStringLiteral("done")}) {
                QFont font = Theme::font(Type::Small);
                font.setPointSizeF(size);
                const int room = QueueRowDelegate::roomOf(state, font);
                QCOMPARE(QFontMetrics(font).elidedText(state, Qt::ElideRight, room), state);
            }
    }

    void theQueueOpensAtTheRunThatRunsElseAtTheNextOne() {
        auto experiment = core::readExperiment(m_id);
        const int next = experiment->queued().front();
        openWindow();
        QueuePanel *panel = m_strip->queuePanel();
        const core::ExperimentModel &queue = m_workspace->strip().queue();
        const auto openedAt = [&] {
            panel->list()->setCurrentIndex({});
            QTest::mouseClick(m_strip->queueButton(), Qt::LeftButton);
            const int row = panel->list()->currentIndex().row();
            panel->hide();
            return row < 0 ? -1 : queue.entryAt(row);
        };
        QTRY_VERIFY(m_strip->queueButton()->isVisible());
        QCOMPARE(openedAt(), next);
        const int running = experiment->queued().back();
        core::ExperimentEntry &second = experiment->entries[std::size_t(running)];
        second.state = core::EntryState::Running;
        second.run = "20260102T030500Z-00000099";
        QVERIFY(core::writeExperiment(*experiment).has_value());
        const auto runs = [&] {
            for (int row = 0; row < queue.rowCount(); ++row)
                if (queue.index(row).data(core::StateRole).toString() == QStringLiteral("running"))
                    return queue.entryAt(row);
            return -1;
        };
        QTRY_COMPARE(runs(), running);
        QCOMPARE(openedAt(), running);
    }

    void besideALongTitleTheRunThatRunsIsStillNamed() {
        auto experiment = core::readExperiment(m_id);
        experiment->title = std::string(200, 'x');
        core::ExperimentEntry &next = experiment->entries[std::size_t(experiment->queued().front())];
        next.planned.name = "DDP on 2 devices, fp64";
        QVERIFY(core::writeExperiment(*experiment).has_value());
        openWindow();
        const auto shown = [this] {
            QStringList out;
            for (const auto *label : m_strip->findChildren<ElidedLabel *>())
                out.append(label->shownText());
            return out;
        };
        QTRY_VERIFY2(shown().contains(QStringLiteral("DDP (2), fp64")) ||
                         shown().contains(QStringLiteral("DDP on 2 devices, fp64")),
                     qPrintable(shown().join(u'|')));
        QTest::mouseClick(m_strip->queueButton(), Qt::LeftButton);
        const QueuePanel *panel = m_strip->queuePanel();
        QVERIFY(panel->isVisible());
        QVERIFY(panel->title()->shownText().endsWith(QChar(0x2026))); // cut short, not cut off
        uitest::picture(*m_strip, m_theme, "strip-long-title");
    }

    void theBadgeNamesTheStepAfterWhichARankDied() {
        auto experiment = core::readExperiment(m_id);
        core::ExperimentEntry &entry = experiment->entries[std::size_t(experiment->queued().front())];
        entry.reason = "rank 0 on box1 was killed by SIGKILL";
        uitest::RunWriter writer(entry.planned, experiment->id, 400, 1'767'400'000'000'000,
                                 {.epochs = 2, .stepsPerEpoch = 12});
        writer.begin();
        writer.epoch(1);
        writer.died(0, entry.reason);
        entry.state = core::EntryState::Failed;
        entry.run = writer.run;
        QVERIFY(core::writeExperiment(*experiment).has_value());
        openWindow();
        QTRY_VERIFY2(m_strip->failedButton()->toolTip().contains(
                         QStringLiteral(" failed: rank 0 on box1 was killed by SIGKILL after step 11\n")),
                     qPrintable(m_strip->failedButton()->toolTip()));
    }

    void aQueueUntilAWidthSaysWhatItHasReached() {
        auto experiment = core::readExperiment(m_id);
        experiment->until = core::WidthProgress{{0.05, 30}, core::WidthReached{}, false};
        experiment->until->reached->rounds = 4;
        experiment->until->reached->width = 0.091;
        experiment->until->reached->run = "DDP on 2 devices";
        QVERIFY(core::writeExperiment(*experiment).has_value());
        openWindow();
        QTRY_VERIFY(m_strip->queueButton()->isVisible());
        QTest::mouseClick(m_strip->queueButton(), Qt::LeftButton);
        const QString note = m_strip->queuePanel()->noteText();
        QVERIFY2(note.contains(QStringLiteral("±9.1 %")) && note.contains(QStringLiteral("4 rounds")),
                 qPrintable(note));
        uitest::picture(*m_strip->queuePanel(), m_theme, "queue-width");
    }

    void onePressBringsTheDroppedRunsBack() {
        auto experiment = core::readExperiment(m_id);
        for (core::ExperimentEntry &entry : experiment->entries)
            if (entry.state == core::EntryState::Queued) {
                entry.state = core::EntryState::Stopped; // as a stop leaves what waited
                entry.reason = "stopped by lockstep on box";
            }
        QVERIFY(core::writeExperiment(*experiment).has_value());
        openWindow();
        QPushButton *back = buttonOf(m_strip.get(), u"Bring back 2 runs");
        QVERIFY(back && back->isVisible());
        QVERIFY(!back->shortcut().isEmpty() && !back->toolTip().isEmpty());
        QTest::mouseClick(back, Qt::LeftButton);
        const auto requests = asked(); // its owner, this process, has not taken them yet
        QCOMPARE(requests.size(), std::size_t(2));
        for (const core::QueueRequest &request : requests) {
            QVERIFY(request.kind == Kind::Retry);
            QVERIFY(core::apply(request, *experiment).has_value());
        }
        QCOMPARE(experiment->queued().size(), std::size_t(2));
        QVERIFY(core::writeExperiment(*experiment).has_value());
        QTRY_VERIFY(!back->isVisible());
    }

    void aQueueElsewhereSaysWhereItLivesAndThatNobodyKnowsHowItStandsWithoutALink() {
        const core::QueueOrigin far{core::prefixFor("far.invalid", "/opt/lockstep-agent").value(), "/opt/lockstepctl"};
        QVERIFY(core::writeQueueOrigin(m_id, far).has_value());
        openWindow();
        const auto strip = [this] { return m_workspace->strip().now(); };
        QTRY_VERIFY(strip().state.startsWith(u"the link to far.invalid is lost, the queue's state is unknown"));
        QCOMPARE(strip().queueHost, QStringLiteral("far.invalid"));
        QVERIFY(!strip().active);
        QVERIFY(!strip().orphaned); // nothing offers to resume a queue that may still run
        QVERIFY(!strip().overall);
        QVERIFY(!m_strip->pauseButton()->isVisible());
        QTest::mouseClick(m_strip->queueButton(), Qt::LeftButton);
        QueuePanel *panel = m_strip->queuePanel();
        QVERIFY(panel->isVisible());
        const QString note = panel->noteText();
        QVERIFY2(note.startsWith(u"Runs on far.invalid. As last seen: the link"), qPrintable(note));
        for (int row = 0; row < m_workspace->strip().queue().rowCount(); ++row) {
            panel->list()->setCurrentIndex(m_workspace->strip().queue().index(row));
            QVERIFY(!panel->upButton()->isEnabled() && !panel->downButton()->isEnabled());
            QVERIFY(!panel->skipButton()->isEnabled() && !panel->retryButton()->isEnabled());
        }
        QSignalSpy failed(m_workspace.get(), &Workspace::failed);
        core::QueueRequest pause;
        pause.kind = Kind::Pause;
        m_workspace->control().ask(pause);
        QCOMPARE(failed.size(), 1);
        QVERIFY(failed[0][0].toString().contains(u"nothing was requested"));
        uitest::picture(*panel, m_theme, "queue-lost");
    }
};

QTEST_MAIN(QueueTest)
#include "queue_test.moc"
