// SPDX-License-Identifier: MIT
// What every card on Live has from LiveCard, and the pace at which the page draws.
#include <QComboBox>
#include <QLabel>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "app/ui/charts/phase_bars.h"
#include "app/ui/pages/live/draw_pace.h"
#include "app/ui/pages/live/live_card.h"
#include "app/ui/pages/live/shown_runs.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "tests/qt_test.h"
#include "ui_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;
using core::RunStore;

namespace {

/// Counts its drawings of losses and phases.
class CountingCard : public LiveCard {
public:
    CountingCard(const Theme &theme, const ShownRuns &shown, std::chrono::milliseconds pause)
        : LiveCard(QStringLiteral("Counting"), shown, Changes(RunStore::Loss) | RunStore::Phases, nullptr, pause),
          m_bars(new PhaseBars(theme, QStringLiteral("none"), this)),
          choice(addChoice("counting", {QStringLiteral("one"), QStringLiteral("two")}, QStringLiteral("how"))) {}
    [[nodiscard]] ChartSource *picture() const override { return m_bars; }

private:
    void draw(Changes what) override { drawn.push_back(what); }
    PhaseBars *m_bars;

public:
    QComboBox *choice;
    std::vector<Changes> drawn;
};

} // namespace

class LiveCardTest : public QObject {
    Q_OBJECT
    uitest::Home m_home;
    Theme m_theme{ThemeMode::Light};
    Workspace m_workspace;
    ShownRuns m_shown{m_workspace};

private Q_SLOTS:
    void aCardIsDrawnAfterTheChangesThatItWatchesAndNoOthers() {
        CountingCard card(m_theme, m_shown, {});
        card.refresh(RunStore::Devices);
        QVERIFY(card.drawn.empty());
        card.refresh(RunStore::Changes(RunStore::Devices) | RunStore::Loss);
        card.refresh(RunStore::Loss);
        QCOMPARE(card.drawn.size(), std::size_t(2));
        QCOMPARE(card.drawn.front(), RunStore::Changes(RunStore::Loss));
    }

    void duringItsPauseACardWaitsAndAsksOnceForAllThatChanged() {
        CountingCard card(m_theme, m_shown, std::chrono::hours(1));
        QSignalSpy wanted(&card, &LiveCard::refreshWanted);
        card.refresh(RunStore::Loss);
        card.refresh(RunStore::Loss);
        card.refresh(RunStore::Phases);
        QCOMPARE(card.drawn.size(), std::size_t(1));
        card.refresh(RunStore::All); // another experiment, an export: now
        QCOMPARE(card.drawn.size(), std::size_t(2));

        CountingCard soon(m_theme, m_shown, std::chrono::milliseconds(1));
        QSignalSpy soonWanted(&soon, &LiveCard::refreshWanted);
        soon.refresh(RunStore::Loss);
        soon.refresh(RunStore::Loss);
        soon.refresh(RunStore::Phases);
        QTRY_COMPARE(soonWanted.size(), 1);
        QCOMPARE(soonWanted.front().front().value<RunStore::Changes>(),
                 RunStore::Changes(RunStore::Loss) | RunStore::Phases);
        QVERIFY(wanted.isEmpty());
    }

    void whatIsChosenInACardsHeadIsKeptAndCanBePutBack() {
        const QTemporaryDir folder;
        QSettings settings(folder.filePath("settings.ini"), QSettings::IniFormat);
        CountingCard card(m_theme, m_shown, {}), other(m_theme, m_shown, {});
        card.choice->setCurrentIndex(1);
        card.saveChoices(settings);
        QCOMPARE(settings.value("live/counting").toInt(), 1);
        other.restoreChoices(settings);
        QCOMPARE(other.choice->currentIndex(), 1);
        other.resetChoices();
        QCOMPARE(other.choice->currentIndex(), 0);
        settings.setValue("live/counting", 7); // of another version, say
        card.restoreChoices(settings);
        QCOMPARE(card.choice->currentIndex(), 0);
    }

    void anEmptyPictureSaysThatAllRunsAreHiddenAndPromisesNothingOnceTheyAreOver() {
        const auto why = [this] { return m_shown.whyEmpty(QStringLiteral("none yet"), QStringLiteral("none came")); };
        QCOMPARE(why(), QStringLiteral("none yet"));
        QVERIFY(
            m_workspace.open(QString::fromStdString(uitest::writeUnfinishedExperiment({.epochs = 1, .firstRun = 40}))));
        m_shown.refresh();
        QCOMPARE(why(), QStringLiteral("none yet"));
        const auto opened = m_workspace.open(QString::fromStdString(uitest::writeExperimentOnDisk({.epochs = 1})));
        QVERIFY(opened);
        QTRY_VERIFY(m_workspace.complete() && m_workspace.settled());
        m_shown.refresh();
        QCOMPARE(why(), QStringLiteral("none came"));
        m_workspace.pictured().choice().showAll(false);
        m_shown.refresh();
        QVERIFY(why().contains(QStringLiteral("hidden")));
    }

    void thePaceAnswersManyRequestsWithOneDrawing() {
        DrawPace pace;
        QSignalSpy due(&pace, &DrawPace::due);
        for (int i = 0; i < 5; ++i)
            pace.ask();
        QVERIFY(due.isEmpty());
        QTRY_COMPARE(due.size(), 1);
        pace.ask();
        QTRY_COMPARE(due.size(), 2);
    }
};

QTEST_MAIN(LiveCardTest)
#include "live_card_test.moc"
