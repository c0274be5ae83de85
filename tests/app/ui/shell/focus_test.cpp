// SPDX-License-Identifier: MIT
// Without a mouse and without eyes: what has the keyboard's focus shows it, everything can be reached by keys, charts say their values.
#include <QAbstractButton>
#include <QAccessible>
#include <QApplication>
#include <QImage>
#include <QSplitter>

#include <set>

#include "app/ui/charts/bar_chart.h"
#include "app/ui/charts/chart_source.h"
#include "app/ui/pages/verdict/verdict_page.h"
#include "app/ui/shell/console_drawer.h"
#include "tests/qt_test.h"
#include "window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

bool takesTab(const QWidget *widget) {
    return (widget->focusPolicy() & Qt::TabFocus) == Qt::TabFocus && widget->isVisible() && widget->isEnabled() &&
           !widget->focusProxy();
}

QString nameOf(const QWidget *widget) {
    const auto *button = qobject_cast<const QAbstractButton *>(widget);
    return QStringLiteral("%1 \"%2\" %3")
        .arg(widget->metaObject()->className(), button ? button->text() : widget->accessibleName(), widget->toolTip());
}

/// Pixels that differ there.
int differing(const QImage &a, const QImage &b, const QRect &part) {
    int count = 0;
    const QRect all = part & a.rect();
    for (int y = all.top(); y <= all.bottom(); ++y)
        for (int x = all.left(); x <= all.right(); ++x)
            count += a.pixel(x, y) != b.pixel(x, y);
    return count;
}

} // namespace

class FocusTest : public QObject, uitest::WindowFixture {
    Q_OBJECT
    uitest::Home m_home;
    std::string m_id;

    [[nodiscard]] QImage picture() const { return m_window->grab().toImage(); }
    /// Everything that Tab comes to, once around.
    std::set<QWidget *> walk() {
        constexpr int mostStays = 4; // a text goes through its links first
        std::set<QWidget *> out;
        QWidget *before = nullptr;
        for (int stays = 0; stays < mostStays;) {
            QTest::keyClick(before ? before : m_window.get(), Qt::Key_Tab);
            QWidget *now = QApplication::focusWidget();
            if (!now || (!out.insert(now).second && now != before))
                break;
            stays = now == before ? stays + 1 : 0;
            before = now;
        }
        return out;
    }

private Q_SLOTS:
    void initTestCase() {
        m_id = uitest::writeExperimentOnDisk({.epochs = 2, .repeats = 2});
        QVERIFY(!m_id.empty());
    }
    void init() {
        openWindow({1600, 1200});
        openAndDraw(m_id);
    }
    void cleanup() { closeWindow(); }

    void everythingIsReachedByKeysAndShowsItsFocus_data() {
        QTest::addColumn<int>("page");
        for (const PageSpec &spec : pageTable)
            QTest::newRow(spec.name) << int(spec.page);
    }
    void everythingIsReachedByKeysAndShowsItsFocus() {
        QFETCH(int, page);
        m_window->drawer()->setUnfolded(true);
        m_window->showPage(Page(page));
        QTest::qWait(50);
        const std::set<QWidget *> reached = walk();
        QVERIFY2(reached.size() > 10, qPrintable(QString::number(reached.size())));
        for (QWidget *widget : m_window->findChildren<QWidget *>()) {
            const auto *button = qobject_cast<const QAbstractButton *>(widget);
            const bool hasKeys = button && (!button->shortcut().isEmpty() || button->autoExclusive());
            if (takesTab(widget) || (button && button->isVisible() && button->isEnabled()))
                QVERIFY2(hasKeys || reached.contains(widget) || qobject_cast<QAbstractButton *>(widget->parentWidget()),
                         qPrintable(nameOf(widget) + QStringLiteral(" can't be reached")));
        }
        const QByteArray name = QByteArray("focus-") + pageTable[std::size_t(page)].name;
        uitest::picture(*m_window, m_theme, name.constData()); // of what Tab came to last
        for (QWidget *widget : reached) {
            if (!takesTab(widget) || widget->visibleRegion().isEmpty())
                continue;
            widget->setFocus(Qt::TabFocusReason);
            const QImage with = picture();
            widget->clearFocus();
            const QImage without = picture();
            const QRect seen = widget->visibleRegion().boundingRect();
            const QRect place(widget->mapTo(m_window.get(), seen.topLeft()), seen.size());
            const int changed = differing(with, without, place.adjusted(-4, -4, 4, 4));
            // Two pixels all around, of which a page may cut off a side.
            QVERIFY2(changed >= 2 * (seen.width() + seen.height()),
                     qPrintable(QStringLiteral("%1: %2 pixels").arg(nameOf(widget)).arg(changed)));
        }
    }

    void theFocusInAPageOfPanesAddsNoPane() {
        m_window->showPage(Page::Live);
        auto *panes = m_window->findChild<QSplitter *>(QStringLiteral("pageBody"));
        QVERIFY(panes);
        const int count = panes->count();
        int focused = 0;
        for (QWidget *widget : panes->findChildren<QWidget *>())
            if (takesTab(widget)) {
                widget->setFocus(Qt::TabFocusReason);
                QCOMPARE(panes->count(), count);
                ++focused;
            }
        QVERIFY(focused > 3);
    }

    void everyChartReadsItsValues() {
        m_window->showPage(Page::Verdict);
        QTRY_VERIFY(m_workspace->settled());
        for (ChartSource *chart : m_window->charts()) {
            QAccessibleInterface *access = QAccessible::queryAccessibleInterface(dynamic_cast<QWidget *>(chart));
            QVERIFY(access);
            QCOMPARE(access->role(), QAccessible::Chart);
            QVERIFY2(!access->text(QAccessible::Name).isEmpty(), qPrintable(chart->chartName()));
            const QString said = access->text(QAccessible::Description);
            const QStringList rows = chart->chartData().split(u'\n', Qt::SkipEmptyParts);
            if (rows.size() < 2) {
                QCOMPARE(said, QStringLiteral("No values yet."));
                continue;
            }
            for (const QString &row : rows.mid(1))
                QVERIFY2(said.contains(row.section(u'\t', 0, 0)), qPrintable(chart->chartName() + u'\n' + said));
            QVERIFY2(said.contains(QRegularExpression(QStringLiteral("\\d"))), qPrintable(said));
        }
        const auto saidBy = [this](const QString &name) {
            for (ChartSource *chart : m_window->charts())
                if (chart->chartName() == name)
                    return QAccessible::queryAccessibleInterface(dynamic_cast<QWidget *>(chart))
                        ->text(QAccessible::Description);
            return QString();
        };
        QVERIFY2(saidBy(QStringLiteral("loss")).contains(QLatin1String("baseline: ")), qPrintable(saidBy("loss")));
        QVERIFY2(saidBy(QStringLiteral("loss")).contains(QLatin1String(", between ")), qPrintable(saidBy("loss")));
        QVERIFY2(saidBy(QStringLiteral("devices")).contains(QLatin1String("cpu:0: ")), qPrintable(saidBy("devices")));
        QVERIFY2(saidBy(QStringLiteral("speed-up")).contains(QStringLiteral("DP on 2 devices: speed-up")),
                 qPrintable(saidBy("speed-up")));
    }

    void theRingOfAChartLiesAroundItAndNotOverItsNames() {
        m_window->showPage(Page::Verdict);
        QTest::qWait(50);
        BarChart *chart = m_window->verdictPage()->speedUps();
        chart->setFocus(Qt::TabFocusReason);
        const QImage with = picture();
        chart->clearFocus();
        const QImage without = picture();
        const QRect place(chart->mapTo(m_window.get(), QPoint()), chart->size());
        QVERIFY(differing(with, without, place.adjusted(-4, -4, 4, 4)) > place.height());
        constexpr int corner = 8; // which is round
        QCOMPARE(differing(with, without, place.adjusted(0, corner, 0, -corner)), 0);
    }
};

QTEST_MAIN(FocusTest)
#include "focus_test.moc"
