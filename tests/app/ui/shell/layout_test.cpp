// SPDX-License-Identifier: MIT
// How Live is arranged: what a person moves is kept, small and large windows show every picture whole.
#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QLineEdit>
#include <QSlider>
#include <QSplitter>

#include "app/ui/charts/anatomy_view.h"
#include "app/ui/charts/lane_view.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/charts/phase_bars.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/live/live_side.h"
#include "app/ui/shell/command_palette.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/wrapped_label.h"
#include "tests/qt_test.h"
#include "ui_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

class LayoutTest : public QObject {
    Q_OBJECT
    uitest::Home m_home;
    Theme m_theme{ThemeMode::Light};
    std::string m_id;
    std::unique_ptr<Workspace> m_workspace;
    std::unique_ptr<MainWindow> m_window;

    [[nodiscard]] LivePage *page() const { return m_window->livePage(); }
    [[nodiscard]] LineChart *loss() const { return page()->lossChart(); }
    void open(const std::string &id) {
        const auto opened = m_workspace->open(QString::fromStdString(id));
        QVERIFY2(opened, opened ? "" : opened.error().message().c_str());
        QTRY_VERIFY(m_workspace->complete() && m_workspace->settled());
        m_window->showPage(Page::Live);
        QTRY_VERIFY(loss()->drawnPoints() > 0);
        QTest::qWait(60); // axes and plot settle in the next turns of the loop
    }
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
        m_workspace = std::make_unique<Workspace>();
        m_window = std::make_unique<MainWindow>(m_theme, *m_workspace, uitest::twoCores());
        m_window->resize(1600, 1000);
        m_window->show();
        m_window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
        open(m_id);
    }
    void cleanup() {
        m_window.reset();
        m_workspace.reset();
    }

    void theArrangementIsKeptOverSessionsAndCanBePutBack() {
        const QString file = m_home.path() + "/window.ini";
        m_window->restore(file);
        auto *side = page()->side();
        side->axisBox()->setFocus();
        QTest::keyClick(side->axisBox(), Qt::Key_Down);
        side->smoothSlider()->setFocus();
        QTest::keyClick(side->smoothSlider(), Qt::Key_Home);
        QTest::mouseClick(side->logBox(), Qt::LeftButton, {}, QPoint(8, side->logBox()->height() / 2));
        page()->metricBox()->setFocus();
        QTest::keyClick(page()->metricBox(), Qt::Key_Down);
        page()->pictureActions().value("devices")->trigger();
        QTRY_VERIFY(!page()->lanes()->isVisible());
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
        open(m_id);
        side = page()->side();
        QCOMPARE(side->axisBox()->currentIndex(), 1);
        QCOMPARE(side->smoothSlider()->value(), 0);
        QVERIFY(side->logBox()->isChecked());
        QCOMPARE(page()->metricBox()->currentIndex(), 1);
        QVERIFY(!page()->lanes()->isVisible() && page()->phaseBars()->isVisible());
        QVERIFY(m_workspace->pictured().choice().isPinned(pinned));
        splitter = qobject_cast<QSplitter *>(loss()->parentWidget()->parentWidget());
        QVERIFY(std::abs(splitter->sizes().first() - after) < 8);

        QTest::keyClick(page(), Qt::Key_K, Qt::ControlModifier);
        CommandPalette *palette = nullptr;
        QTRY_VERIFY((palette = m_window->findChild<CommandPalette *>()));
        QTest::keyClicks(palette->field(), "reset layout");
        QTest::keyClick(palette->field(), Qt::Key_Return);
        QTRY_VERIFY(page()->lanes()->isVisible());
        QCOMPARE(side->axisBox()->currentIndex(), 0);
        QCOMPARE(side->smoothSlider()->value(), 60);
        QVERIFY(!side->logBox()->isChecked());
        QTRY_VERIFY(splitter->sizes().first() > after + 60);
        m_workspace->pictured().choice().setPinned(pinned, false);
    }

    void aSmallWindowShowsEveryPictureWithoutScrolling() {
        m_window->resize(1280, 800);
        QTRY_VERIFY(page()->anatomy()->isVisible());
        const auto bottom = [this](const QWidget *widget) {
            return widget->mapTo(page(), QPoint(0, widget->height())).y();
        };
        QTRY_VERIFY(bottom(page()->anatomy()) <= page()->height());
        QVERIFY(loss()->chart()->plotArea().height() > 100);
    }

    void noWordsHoweverManyTakeAPicturesAxisAway() {
        m_window->resize(1280, 800);
        QTRY_VERIFY(page()->anatomy()->isVisible());
        const auto whole = [this] {
            for (const auto *chart : std::initializer_list<QWidget *>{
                     page()->lanes(), page()->phaseBars(), page()->anatomy(), loss(), page()->durationChart()})
                if (chart->height() < chart->minimumSizeHint().height())
                    return false;
            return true;
        };
        QTRY_VERIFY(whole());
        const QString sentence = "DDP ×2: 1.27× as fast as baseline (1.15-1.42), for 4 causes that want telling. ";
        page()->verdictLabel()->setWords(sentence.repeated(12));
        page()->watchingLabel()->show();
        page()->watchingLabel()->setWords(sentence.repeated(12));
        QTRY_VERIFY(page()->verdictLabel()->height() > 10 * page()->verdictLabel()->fontMetrics().height());
        QTRY_VERIFY2(whole(), "what does not fit scrolls");
        QList<PhaseBar> many;
        for (int rank = 0; rank < 16; ++rank)
            many.append({QStringLiteral("DDP ×16 rank %1").arg(rank), Qt::blue, {{"forward", 0.01}}, {}});
        page()->phaseBars()->setBars(many);
        QTRY_VERIFY(page()->phaseBars()->height() >= 16 * 18);
        QTRY_VERIFY(whole());
    }

    void theVerdictsLinkLeadsToWhy() {
        QTRY_VERIFY(page()->verdictLabel()->text().contains("as fast as baseline"));
        QVERIFY(!page()->verdictLabel()->text().contains("efficient"));
        QVERIFY(page()->verdictLabel()->toolTip().contains("efficient"));
        page()->verdictLabel()->setFocus();
        QTest::keyClick(page()->verdictLabel(), Qt::Key_Tab); // to the link
        QTest::keyClick(page()->verdictLabel(), Qt::Key_Return);
        QTRY_COMPARE(m_window->page(), Page::Verdict);
    }

    void aLargeWindowIsUsedAndASmallOneKeepsItsChartsReadable() {
        QAction *metric = page()->pictureActions().value(QStringLiteral("metric"));
        metric->trigger(); // the picture of a metric takes room from all others
        m_window->resize(2560, 1440);
        QTest::qWait(60);
        const LaneView *lanes = page()->lanes();
        QVERIFY2(lanes->height() > 400, "lanes have the room");
        const QImage image = page()->lanes()->grab().toImage();
        bool painted = false; // in the lower third too
        for (int x = 300; x < image.width() - 200 && !painted; x += 7)
            painted = image.pixelColor(x, image.height() * 4 / 5).saturation() > 40;
        QVERIFY2(painted, "the lower part of the card is empty");
        m_window->resize(1024, 640);
        QTest::qWait(60);
        QVERIFY(loss()->chart()->plotArea().width() > 150 && loss()->chart()->plotArea().height() > 100);
    }
};

QTEST_MAIN(LayoutTest)
#include "layout_test.moc"
