// SPDX-License-Identifier: MIT
// How Live is arranged: what a person moves is kept, small and large windows show every picture whole.
#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QLineEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QSlider>
#include <QSplitter>
#include <QTableView>

#include "app/ui/charts/anatomy_view.h"
#include "app/ui/charts/lane_view.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/charts/phase_bars.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/live/live_side.h"
#include "app/ui/pages/verdict/verdict_page.h"
#include "app/ui/shell/command_palette.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/rail.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/wrapped_label.h"
#include "tests/qt_test.h"
#include "window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

class LayoutTest : public QObject, uitest::WindowFixture {
    Q_OBJECT
    uitest::Home m_home;
    std::string m_id;

    [[nodiscard]] LineChart *loss() const { return live()->lossChart(); }
    void move(QWidget *widget, const QPoint &to, Qt::MouseButtons buttons) {
        QMouseEvent event(QEvent::MouseMove, QPointF(to), QPointF(widget->mapToGlobal(to)), Qt::NoButton, buttons, {});
        QApplication::sendEvent(widget, &event);
    }

private Q_SLOTS:
    void initTestCase() {
        m_id = uitest::writeExperimentOnDisk({.epochs = 3, .repeats = 2});
        QVERIFY(!m_id.empty());
    }
    void init() {
        openWindow({1600, 1000});
        openAndDraw(m_id);
    }
    void cleanup() { closeWindow(); }

    void theArrangementIsKeptOverSessionsAndCanBePutBack() {
        const QString file = m_home.path() + "/window.ini";
        m_window->restore(file);
        auto *side = live()->side();
        side->axisBox()->setFocus();
        QTest::keyClick(side->axisBox(), Qt::Key_Down);
        side->smoothSlider()->setFocus();
        QTest::keyClick(side->smoothSlider(), Qt::Key_Home);
        QTest::mouseClick(side->logBox(), Qt::LeftButton, {}, QPoint(8, side->logBox()->height() / 2));
        live()->metricBox()->setFocus();
        QTest::keyClick(live()->metricBox(), Qt::Key_Down);
        live()->pictureActions().value("devices")->trigger();
        QTRY_VERIFY(!live()->lanes()->isVisible());
        const QString pinned = QString::fromStdString(m_workspace->runs().at(0)->runId().toStdString());
        m_workspace->pictured().choice().setPinned(pinned, true);
        auto *between = loss()->parentWidget()->parentWidget(); // the splitter of loss and duration
        auto *splitter = qobject_cast<QSplitter *>(between);
        QVERIFY(splitter);
        QSplitterHandle *handle = splitter->handle(1);
        const int before = splitter->sizes().first();
        const QPoint from = handle->rect().center();
        QTest::mousePress(handle, Qt::LeftButton, {}, from);
        move(handle, from - QPoint(120, 0), Qt::LeftButton);
        QTest::mouseRelease(handle, Qt::LeftButton, {}, from - QPoint(120, 0));
        const int after = splitter->sizes().first();
        QVERIFY(after < before - 60);
        m_window->close();
        cleanup();

        m_workspace = std::make_unique<Workspace>();
        m_window = std::make_unique<MainWindow>(m_theme, *m_workspace, uitest::twoCores());
        m_window->resize(1600, 1000);
        m_window->restore(file);
        m_window->show();
        m_window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
        openAndDraw(m_id);
        side = live()->side();
        QCOMPARE(side->axisBox()->currentIndex(), 1);
        QCOMPARE(side->smoothSlider()->value(), 0);
        QVERIFY(side->logBox()->isChecked());
        QCOMPARE(live()->metricBox()->currentIndex(), 1);
        QVERIFY(!live()->lanes()->isVisible() && live()->phaseBars()->isVisible());
        QVERIFY(m_workspace->pictured().choice().isPinned(pinned));
        splitter = qobject_cast<QSplitter *>(loss()->parentWidget()->parentWidget());
        QVERIFY(std::abs(splitter->sizes().first() - after) < 8);

        QTest::keyClick(live(), Qt::Key_K, Qt::ControlModifier);
        CommandPalette *palette = nullptr;
        QTRY_VERIFY((palette = m_window->findChild<CommandPalette *>()));
        QTest::keyClicks(palette->field(), "reset layout");
        QTest::keyClick(palette->field(), Qt::Key_Return);
        QTRY_VERIFY(live()->lanes()->isVisible());
        QCOMPARE(side->axisBox()->currentIndex(), 0);
        QCOMPARE(side->smoothSlider()->value(), 60);
        QVERIFY(!side->logBox()->isChecked());
        QTRY_VERIFY(splitter->sizes().first() > after + 60);
        m_workspace->pictured().choice().setPinned(pinned, false);
    }

    void aSmallWindowShowsEveryPictureWithoutScrolling() {
        m_window->resize(1280, 800);
        QTRY_VERIFY(live()->anatomy()->isVisible());
        const auto bottom = [this](const QWidget *widget) {
            return widget->mapTo(live(), QPoint(0, widget->height())).y();
        };
        QTRY_VERIFY(bottom(live()->anatomy()) <= live()->height());
        QVERIFY(loss()->chart()->plotArea().height() > 100);
    }

    void noWordsHoweverManyTakeAPicturesAxisAway() {
        m_window->resize(1280, 800);
        QTRY_VERIFY(live()->anatomy()->isVisible());
        const auto whole = [this] {
            for (const auto *chart : std::initializer_list<QWidget *>{
                     live()->lanes(), live()->phaseBars(), live()->anatomy(), loss(), live()->durationChart()})
                if (chart->height() < chart->minimumSizeHint().height())
                    return false;
            return true;
        };
        QTRY_VERIFY(whole());
        const QString sentence =
            "DDP on 2 devices: 1.27× as fast as baseline (1.15-1.42), for 4 causes that want telling. ";
        live()->verdictLabel()->setWords(sentence.repeated(12));
        live()->watchingLabel()->show();
        live()->watchingLabel()->setWords(sentence.repeated(12));
        QTRY_VERIFY(live()->verdictLabel()->height() > 10 * live()->verdictLabel()->fontMetrics().height());
        QTRY_VERIFY2(whole(), "what does not fit scrolls");
        QList<PhaseBar> many;
        for (int rank = 0; rank < 16; ++rank)
            many.append({QStringLiteral("DDP on 16 devices rank %1").arg(rank), Qt::blue, {{"forward", 0.01}}, {}});
        live()->phaseBars()->setBars(many);
        QTRY_VERIFY(live()->phaseBars()->height() >= 16 * 18);
        QTRY_VERIFY(whole());
    }

    void theVerdictsLinkLeadsToWhy() {
        QTRY_VERIFY(live()->verdictLabel()->text().contains(u'×'));
        QVERIFY(!live()->verdictLabel()->text().contains("efficient"));
        QVERIFY(live()->verdictLabel()->toolTip().contains("efficient"));
        live()->verdictLabel()->setFocus();
        QTest::keyClick(live()->verdictLabel(), Qt::Key_Tab); // to the link
        QTest::keyClick(live()->verdictLabel(), Qt::Key_Return);
        QTRY_COMPARE(m_window->page(), Page::Verdict);
    }

    void theWheelOverAChoiceThatHasNoFocusChangesNothing() {
        m_window->rail()->setFocusPolicy(Qt::StrongFocus);
        m_window->rail()->setFocus();
        int tried = 0;
        for (QWidget *widget : m_window->findChildren<QWidget *>()) {
            auto *combo = qobject_cast<QComboBox *>(widget);
            auto *slider = qobject_cast<QSlider *>(widget);
            if (!combo && !slider)
                continue;
            const auto value = [&] { return combo ? combo->currentIndex() : slider->value(); };
            const int before = value();
            for (const int clicks : {-1, 1, 1}) {
                uitest::turnWheel(widget, widget->rect().center(), clicks);
                QVERIFY2(value() == before, qPrintable(widget->accessibleName() + widget->toolTip()));
            }
            ++tried;
        }
        QVERIFY(tried > 12);
        live()->side()->axisBox()->setFocus(); // it has the focus: somebody is choosing
        uitest::turnWheel(live()->side()->axisBox(), QPoint(5, 5), -1);
        QCOMPARE(live()->side()->axisBox()->currentIndex(), 1);
    }

    void theWheelOverATableOfAPageScrollsThePage() {
        m_window->resize(1024, 640);
        m_window->showPage(Page::Verdict);
        QTableView *table = m_window->verdictPage()->table();
        QTRY_VERIFY(table->horizontalScrollBar()->maximum() > 0);
        QScrollArea *area = nullptr;
        for (QWidget *at = table->parentWidget(); at && !area; at = at->parentWidget())
            area = qobject_cast<QScrollArea *>(at);
        QVERIFY(area && area->verticalScrollBar()->maximum() > 0);
        uitest::turnWheel(table->viewport(), QPoint(20, 20), -1);
        QCOMPARE(table->horizontalScrollBar()->value(), 0);
        QVERIFY(area->verticalScrollBar()->value() > 0);
        uitest::turnWheel(table->horizontalScrollBar(), QPoint(20, 2), -1);
        QCOMPARE(table->horizontalScrollBar()->value(), 0);
        const QPointF at(20, 20);
        QWheelEvent sideways(at, table->viewport()->mapToGlobal(at), {}, {-120, 0}, {}, {}, Qt::NoScrollPhase, false);
        QApplication::sendEvent(table->viewport(), &sideways);
        QVERIFY(table->horizontalScrollBar()->value() > 0);
    }

    void aLargeWindowIsUsedAndASmallOneKeepsItsChartsReadable() {
        QAction *metric = live()->pictureActions().value(QStringLiteral("metric"));
        metric->trigger(); // the picture of a metric takes room from all others
        m_window->resize(2560, 1440);
        QTest::qWait(60);
        const LaneView *lanes = live()->lanes();
        QVERIFY2(lanes->height() > 400, "lanes have the room");
        const QImage image = live()->lanes()->grab().toImage();
        bool painted = false; // in the lower third too
        for (int x = 300; x < image.width() - 200 && !painted; x += 7)
            painted = image.pixelColor(x, image.height() * 4 / 5).saturation() > 40;
        QVERIFY2(painted, "the lower part of the card is empty");
        m_window->resize(1024, 640);
        QTest::qWait(60);
        QVERIFY(loss()->chart()->plotArea().width() > 150 && loss()->chart()->plotArea().height() > 100);
        for (const QScrollArea *area : live()->findChildren<QScrollArea *>())
            QVERIFY2(!area->isVisible() || area->horizontalScrollBar()->maximum() == 0, "a picture is cut off");
    }
};

QTEST_MAIN(LayoutTest)
#include "layout_test.moc"
