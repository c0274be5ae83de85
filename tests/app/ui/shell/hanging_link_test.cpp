// SPDX-License-Identifier: MIT
// What the window does while another machine does not answer: a program called ssh stands in for it and hangs for ever. A key is
// answered all the same, the strip says what is happening, and nothing is left when the window is closed.
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QSignalSpy>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "app/ui/pages/runs/runs_page.h"
#include "app/ui/shell/connect_banner.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/queue_panel.h"
#include "app/ui/shell/status_strip.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "ipc/unix_socket.h"
#include "queue/control_seat.h"
#include "queue/named_places.h"
#include "queue/queue_origin.h"
#include "tests/figure.h"
#include "tests/qt_test.h"
#include "ui_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

/// What is promised, and what only a window that waits for the link exceeds. Between them lies a busy machine: a process that the window
/// starts shares its memory until it has a core to begin on, and the kernel holds the window up as long.
constexpr double promisedMs = 100, waitsMs = 2000;

void checkAnswered(double ms) {
    test::printFigureLine("a key answered while a link hangs", ms / 1000, promisedMs / 1000, "s");
    QVERIFY2(ms < waitsMs, qPrintable(QStringLiteral("a key was answered after %1 ms").arg(ms)));
}

/// Says what lies in "said" for a queue that is followed, then "answer" once it is there, and hangs.
const char *const hangingSsh = R"SH(#!/bin/sh
echo $$ >> "$HANG/pids"
case "$*" in *remote*follow*)
  [ -e "$HANG/said" ] && cat "$HANG/said"
  while [ -e "$HANG/said" ] && [ ! -e "$HANG/answer" ]; do sleep 0.05; done
  cat "$HANG/answer" 2>/dev/null ;;
esac
echo "$*" >> "$HANG/asked"
exec sleep 600
)SH";

/// How long this thread was ready but another program had the processor, in ms: not its own time.
double heldUpMs() {
    QFile file(QStringLiteral("/proc/thread-self/schedstat"));
    if (!file.open(QIODevice::ReadOnly))
        return 0;
    return file.readAll().split(' ').value(1).toDouble() / 1e6;
}

} // namespace

class HangingLinkTest : public QObject {
    Q_OBJECT
    std::unique_ptr<uitest::Home> m_home;
    std::unique_ptr<QTemporaryDir> m_hang;
    QByteArray m_path;
    Theme m_theme{ThemeMode::Light};
    std::unique_ptr<Workspace> m_workspace;
    std::unique_ptr<MainWindow> m_window;
    QLineEdit *m_edit = nullptr; ///< the filter of Runs, into which keys are typed

    [[nodiscard]] QString hang(const char *name) const { return m_hang->filePath(QString::fromLatin1(name)); }
    [[nodiscard]] QByteArray lines(const char *name) const {
        QFile file(hang(name));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }
    [[nodiscard]] StatusStrip *strip() const { return m_window->strip(); }
    void write(const char *name, const std::string &text) const {
        QVERIFY(realFileSystem().writeAtomically(hang(name).toStdString(), text).has_value());
    }

    /// Processes of the stand-in that still live.
    [[nodiscard]] std::vector<int> living() const {
        std::vector<int> out;
        for (const QByteArray &pid : lines("pids").split('\n'))
            if (pid.toInt() > 0 && ::kill(pid.toInt(), 0) == 0)
                out.push_back(pid.toInt());
        return out;
    }

    bool shows(QStringView words) const {
        const auto labels = strip()->findChildren<QLabel *>();
        return std::any_of(labels.begin(), labels.end(),
                           [&](const QLabel *label) { return label->isVisible() && label->text().contains(words); });
    }

    /// Queues a key and presses; how long the window then took to answer it, in ms of its own time.
    template <class Press> double keyAnsweredMs(Press press) {
        m_edit->clear();
        const double before = heldUpMs();
        QElapsedTimer clock;
        clock.start();
        QCoreApplication::postEvent(m_edit, new QKeyEvent(QEvent::KeyPress, Qt::Key_X, {}, QStringLiteral("x")));
        press();
        while (m_edit->text().isEmpty() && clock.elapsed() < 60'000)
            QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 5);
        return double(clock.nsecsElapsed()) / 1e6 - (heldUpMs() - before);
    }
    /// The longest answer: to a key that is queued as `press` begins, and to those of the second after it.
    template <class Press> double longestAnswerMs(Press press) {
        (void)keyAnsweredMs([] {}); // what is made once, at the first key
        double longest = keyAnsweredMs(press);
        for (int i = 0; i < 40; ++i) {
            QTest::qWait(25);
            longest = std::max(longest, keyAnsweredMs([] {}));
        }
        return longest;
    }
    template <class Press> void answersKeysWhile(Press press) { checkAnswered(longestAnswerMs(press)); }

    void openWindow(const std::string &id) {
        m_workspace = std::make_unique<Workspace>();
        m_window = std::make_unique<MainWindow>(m_theme, *m_workspace, uitest::twoCores());
        m_window->resize(1280, 800);
        m_window->show();
        QVERIFY(m_workspace->open(QString::fromStdString(id)).has_value());
        m_workspace->attachToRunning();
        m_window->showPage(Page::Live);
        QTest::qWait(300); // drawn once
        m_window->showPage(Page::Runs);
        const auto edits = m_window->runsPage()->findChildren<QLineEdit *>();
        const auto filter = std::ranges::find_if(
            edits, [](const QLineEdit *edit) { return edit->placeholderText().startsWith(u"Filter"); });
        QVERIFY(filter != edits.end());
        m_edit = *filter;
        QTest::qWait(300);
    }

    /// A run on hostA of which this machine has a copy.
    std::string runElsewhere(bool accepted = true) {
        auto plan = core::expand(*core::loadRecipe("lenet-dp-vs-ddp"), uitest::twoCores(), {});
        uitest::RunWriter writer(plan->runs.back(), "", 47, 1'767'323'045'000'000, {});
        writer.begin();
        writer.epoch(1);
        (void)realFileSystem().writeAtomically(writer.folder.origin(), R"({"host":"hostA","agent":"lockstep-agent"})");
        if (accepted)
            (void)core::acceptPlacesOf(writer.run);
        return writer.run;
    }

    /// DP and DDP run on hostA, of a queue that this process owns.
    std::string runsElsewhere() {
        const std::string id = uitest::writeExperimentOnDisk();
        auto experiment = core::readExperiment(id);
        experiment->host = "hostA";
        for (core::ExperimentEntry &entry : experiment->entries)
            if (entry.planned.runnable() && entry.planned.config.method != Method::Baseline) {
                entry.state = core::EntryState::Running;
                std::filesystem::remove(runFolder(entry.run).result());
            }
        (void)core::writeExperiment(*experiment);
        (void)core::acceptPlacesOf(id);
        return id;
    }

private Q_SLOTS:
    void init() {
        m_home = std::make_unique<uitest::Home>();
        m_hang = std::make_unique<QTemporaryDir>();
        QFile ssh(hang("ssh"));
        QVERIFY(ssh.open(QIODevice::WriteOnly));
        ssh.write(hangingSsh);
        ssh.close();
        ssh.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        m_path = qgetenv("PATH");
        qputenv("PATH", m_hang->path().toUtf8() + ':' + m_path);
        qputenv("HANG", m_hang->path().toUtf8());
    }
    void cleanup() {
        m_window.reset();
        m_workspace.reset();
        QTRY_VERIFY(living().empty());
        qputenv("PATH", m_path);
    }

    void aStopThatIsNotAnsweredHoldsUpNothing() {
        openWindow(runElsewhere());
        QTRY_VERIFY(strip()->stopButton()->isVisible());
        answersKeysWhile([this] { QTest::mouseClick(strip()->stopButton(), Qt::LeftButton); });
        QVERIFY2(shows(u"Stopping "), "the strip does not say that the run is being stopped");
        QVERIFY(shows(u" on hostA…"));
        QVERIFY(!strip()->stopButton()->isEnabled());
        uitest::picture(*m_window, m_theme, "stop-hangs");
        QTRY_COMPARE(lines("asked").count(" stop "), qsizetype(1));
        QTest::mouseClick(strip()->stopButton(), Qt::LeftButton); // once is enough
        m_workspace->control().stop();
        QTest::qWait(300);
        QCOMPARE(lines("asked").count(" stop "), qsizetype(1));

        QSignalSpy failed(m_workspace.get(), &Workspace::failed);
        for (const int pid : living())
            ::kill(pid, SIGKILL); // the link breaks
        QTRY_COMPARE(failed.size(), 1);
        QTRY_VERIFY(shows(u"stopping on hostA failed"));
        QVERIFY(!shows(u"Stopping "));
        QVERIFY(strip()->stopButton()->isEnabled());
        uitest::picture(*m_window, m_theme, "stop-failed");
    }

    void aRunThatNamesAMachineNobodyHereHasNamedIsAskedAbout() {
        openWindow(runElsewhere(false));
        auto *banner = m_window->findChild<ConnectBanner *>();
        QTRY_VERIFY(banner && banner->isVisible());
        QVERIFY2(banner->text().contains(u"\"lockstep-agent\" on hostA"), qPrintable(banner->text()));
        QTRY_VERIFY(m_workspace->complete()); // what is on the disk has been read
        QVERIFY2(lines("asked").isEmpty() && lines("pids").isEmpty(), "nothing is started unasked");
        uitest::picture(*m_window, m_theme, "connect-asked");
        QTest::mouseClick(banner->findChild<QPushButton *>(), Qt::LeftButton);
        QTRY_VERIFY(lines("asked").contains(" attach "));
        QVERIFY(!banner->isVisible());
    }

    void aTraceThatIsNotAnsweredHoldsUpNothing() {
        const std::string id = runsElsewhere();
        const auto owner = FileLock::acquire(core::experimentFolder(id).lock());
        QVERIFY(owner.has_value());
        openWindow(id);
        QTRY_VERIFY(strip()->stopButton()->isVisible());
        answersKeysWhile([this] { m_workspace->control().trace(20); });
        QVERIFY2(shows(u" on hostA for a trace…"), "the strip does not say that a trace was asked for");
        QTRY_COMPARE(lines("asked").count(" trace "), qsizetype(2)); // side by side, not one after the other
        m_workspace->control().trace(20);
        QTest::qWait(300);
        QCOMPARE(lines("asked").count(" trace "), qsizetype(2));
        uitest::picture(*m_window, m_theme, "trace-hangs");
    }

    void aQueueThatDoesNotAnswerHoldsUpNothing() {
        const std::string id = uitest::writeExperimentOnDisk();
        auto experiment = core::readExperiment(id);
        for (std::size_t i = 1; i < experiment->entries.size(); ++i)
            experiment->entries[i].state = core::EntryState::Queued;
        QVERIFY(core::writeExperiment(*experiment).has_value());
        const core::QueueOrigin far{core::prefixFor("hostA", "/opt/lockstep-agent").value(), "/opt/lockstepctl"};
        QVERIFY(core::writeQueueOrigin(id, far).has_value());
        write("said", core::toJson(core::QueueSnapshot{*experiment, true}));
        openWindow(id);
        QTRY_VERIFY(strip()->pauseButton()->isVisible());
        QSignalSpy failed(m_workspace.get(), &Workspace::failed);
        answersKeysWhile([this] { QTest::mouseClick(strip()->pauseButton(), Qt::LeftButton); });
        QVERIFY(shows(u"Pausing the queue on hostA…"));
        QVERIFY(!strip()->pauseButton()->isEnabled());
        QVERIFY(strip()->stopButton()->isEnabled()); // what is more urgent may be asked meanwhile
        QTest::mouseClick(strip()->queueButton(), Qt::LeftButton);
        QVERIFY(!strip()->queuePanel()->skipButton()->isEnabled());
        QCOMPARE(strip()->queuePanel()->noteText(), QStringLiteral("Pausing the queue on hostA…"));
        strip()->queuePanel()->hide();
        uitest::picture(*m_window, m_theme, "pause-hangs");

        write("answer", "{\"type\":\"answer\",\"number\":1}\n");
        QTRY_VERIFY(strip()->pauseButton()->isEnabled());
        QVERIFY(!shows(u"Pausing "));
        QCOMPARE(failed.size(), 0);
        QTest::mouseClick(strip()->stopButton(), Qt::LeftButton);
        auto *question = m_window->findChild<QMessageBox *>();
        QVERIFY(question);
        for (QAbstractButton *button : question->buttons())
            if (question->buttonRole(button) == QMessageBox::DestructiveRole) // the queue too
                QTest::mouseClick(button, Qt::LeftButton);
        QVERIFY(shows(u"Stopping "));
        QVERIFY(!strip()->stopButton()->isEnabled() && !strip()->pauseButton()->isEnabled());
        for (const int pid : living())
            ::kill(pid, SIGKILL); // the link breaks
        QTRY_VERIFY(shows(u"the last request may or may not have arrived"));
        QVERIFY(!shows(u"Stopping "));
        uitest::picture(*m_window, m_theme, "queue-link-lost");
    }

    void takingOverWhileAnotherChangesTheSeatHoldsUpNothing() {
        const std::string id = runsElsewhere();
        const auto owner = FileLock::acquire(core::experimentFolder(id).lock());
        QVERIFY(owner.has_value());
        openWindow(id);
        std::optional<FileLock> changing;
        if (auto lock = FileLock::acquire(core::experimentFolder(id).path + "/control.lock"))
            changing.emplace(std::move(*lock));
        QVERIFY(changing.has_value());
        QSignalSpy failed(m_workspace.get(), &Workspace::failed);
        const double answered = keyAnsweredMs([this] { m_workspace->control().takeOver(); });
        checkAnswered(answered);
        QVERIFY(shows(u"Taking control of "));
        QTRY_COMPARE(failed.size(), 1); // nobody lets go
        QVERIFY(!shows(u"Taking control of "));
        m_workspace->control().takeOver();
        changing.reset();
        QTRY_VERIFY(!shows(u"Taking control of "));
        QCOMPARE(failed.size(), 1);
        QVERIFY(core::controlHolder(id)->isMe());
    }

    void closingTheWindowGivesUpWhatHangs() {
        openWindow(runElsewhere());
        QTRY_VERIFY(strip()->stopButton()->isVisible());
        QTest::mouseClick(strip()->stopButton(), Qt::LeftButton);
        QTRY_COMPARE(lines("asked").count(" stop "), qsizetype(1));
        QVERIFY(!living().empty());
        const auto start = std::chrono::steady_clock::now();
        m_window.reset();
        m_workspace.reset();
        test::printFigure("the window closed while a request hangs", start, 2); // it waits for nobody; threads end
        QTRY_VERIFY(living().empty());
    }
};

QTEST_MAIN(HangingLinkTest)
#include "hanging_link_test.moc"
