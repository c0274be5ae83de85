// SPDX-License-Identifier: MIT
// While one experiment runs and another one is open, the window says which is which.
#include <QLabel>
#include <QPushButton>
#include <QToolButton>

#include "app/ui/shell/status_strip.h"
#include "ipc/clock.h"
#include "ipc/unix_socket.h"
#include "window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

class BannerTest : public QObject, uitest::WindowFixture {
    Q_OBJECT
    uitest::Home m_home;
    std::string m_earlier, m_running;
    std::optional<FileLock> m_owner;

    [[nodiscard]] QFrame *banner() const { return m_window->findChild<QFrame *>(QStringLiteral("banner")); }
    [[nodiscard]] QString words() const { return banner() ? banner()->findChild<QLabel *>()->text() : QString(); }

private Q_SLOTS:
    void initTestCase() {
        m_earlier = uitest::writeExperimentOnDisk();
        m_running = uitest::writeUnfinishedExperiment({.firstRun = 30});
        auto lock = FileLock::acquire(core::experimentFolder(m_running).lock());
        QVERIFY(lock.has_value());
        m_owner.emplace(std::move(*lock));
    }
    void init() {
        openWindow({1280, 800});
        openOnLive(m_earlier);
        m_workspace->lookForRunning();
    }
    void cleanup() { closeWindow(); }

    void aPageThatShowsAnEarlierExperimentSaysSoAndLeadsToTheOneThatRuns() {
        for (const Page page : {Page::Live, Page::Verdict}) {
            m_window->showPage(page);
            QTRY_VERIFY(banner() && banner()->isVisible());
            QVERIFY2(words().contains(u"Earlier experiment, of ") && words().contains(m_workspace->title()),
                     qPrintable(words()));
        }
        uitest::picture(*m_window, m_theme, "banner");
        m_window->showPage(Page::Plan); // shows neither
        QVERIFY(!banner()->isVisible());
        m_window->showPage(Page::Live);
        QTest::mouseClick(banner()->findChild<QToolButton *>(), Qt::LeftButton);
        QTRY_COMPARE(m_workspace->openId(), QString::fromStdString(m_running));
        QTRY_VERIFY(!banner()->isVisible());
    }

    void aNewerExperimentThanTheOneThatRunsIsNotCalledEarlier() {
        auto open = core::readExperiment(m_earlier);
        const std::int64_t before = open->createdWallUs;
        open->createdWallUs = core::readExperiment(m_running)->createdWallUs + 60'000'000;
        QVERIFY(core::writeExperiment(*open).has_value());
        m_window->showPage(Page::Live);
        QTRY_VERIFY2(words().startsWith(u"Later experiment, of "), qPrintable(words()));
        open->createdWallUs = before;
        QVERIFY(core::writeExperiment(*open).has_value());
        QTRY_VERIFY2(words().startsWith(u"Earlier experiment, of "), qPrintable(words()));
    }

    void oneKeyLeadsToWhatRunsFromAnyPage() {
        m_window->showPage(Page::Runs);
        QTest::keyClick(m_window.get(), Qt::Key_W, Qt::ControlModifier | Qt::ShiftModifier);
        QTRY_COMPARE(m_workspace->openId(), QString::fromStdString(m_running));
        QCOMPARE(m_window->page(), Page::Live);
    }

    void aLabThatRunsIsInTheStripWithTheTimeItTakesYet() {
        m_owner.reset();
        auto ended = core::readExperiment(m_running);
        for (core::ExperimentEntry &entry : ended->entries)
            entry.state = core::EntryState::Done;
        QVERIFY(core::writeExperiment(*ended).has_value());
        const std::string labs = dataHome() + "/labs";
        QVERIFY(realFileSystem().makeFolders(labs).has_value());
        std::optional<FileLock> lab; // as lockstepctl lab holds it
        if (auto lock = FileLock::acquire(labs + "/lab.lock"))
            lab.emplace(std::move(*lock));
        QVERIFY(lab.has_value());
        const std::string startUs = std::to_string(SystemClock().wallUs() - 60'000'000);
        QVERIFY(realFileSystem().writeAtomically(
            labs + "/progress.json",
            R"({"fraction": 0.25, "what": "2 ranks: our ring", "start_wall_us": )" + startUs + "}"));
        const auto says = [&](const QString &text) {
            const auto labels = m_window->strip()->findChildren<QLabel *>();
            return std::ranges::any_of(labels,
                                       [&](const QLabel *l) { return l->isVisible() && l->text().contains(text); });
        };
        QTRY_VERIFY(says(QStringLiteral("2 ranks: our ring")));
        QVERIFY(says(QStringLiteral("Lab")) && says(QStringLiteral("25 %")) && says(QStringLiteral("3 min")));
        QVERIFY(!m_window->strip()->pauseButton()->isVisible());
        uitest::picture(*m_window, m_theme, "strip-lab");
        QPushButton *stop = m_window->strip()->stopButton();
        QCOMPARE(stop->text(), QStringLiteral("Stop the lab"));
        QTest::mouseClick(stop, Qt::LeftButton);
        QVERIFY(QFile::exists(QString::fromStdString(labs + "/stop")));
        lab.reset();
        QTRY_VERIFY(!says(QStringLiteral("2 ranks: our ring")));
    }
};

QTEST_MAIN(BannerTest)
#include "banner_test.moc"
