// SPDX-License-Identifier: MIT
#include <QApplication>
#include <QFontMetricsF>
#include <QSignalSpy>
#include <QToolButton>

#include <set>

#include "app/ui/shell/rail.h"
#include "app/ui/theme/theme.h"
#include "tests/qt_test.h"

using namespace lockstep::ui;

class ThemeTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void textReadsOnEverySurface_data() {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }
    void textReadsOnEverySurface() {
        QFETCH(bool, dark);
        const Palette p = dark ? darkPalette() : lightPalette();
        for (const QColor &ground : {p.window, p.surface, p.raised, p.selection})
            for (const QColor &ink : {p.text, p.textSecondary})
                QVERIFY2(contrastRatio(ground, ink) >= 4.5, qPrintable(ink.name() + " on " + ground.name()));
        QVERIFY(contrastRatio(p.surface, p.textMuted) >= 4.5);
        QVERIFY(contrastRatio(p.surface, p.wrong) >= 4.5);
        QVERIFY(contrastRatio(p.accent, p.onAccent) >= 7);
        for (const QColor &ground : {p.window, p.surface, p.raised, p.selection})
            QVERIFY2(contrastRatio(ground, p.accent) >= 3, "the focus is seen on every surface");
        for (const QColor &ground : {p.window, p.surface})
            QVERIFY2(contrastRatio(ground, controlBorder(p)) >= 3, "so is an unticked box");
        QVERIFY(contrastRatio(p.selection, mutedInRow(p, true)) >= 4.5);
        QCOMPARE(mutedInRow(p, false), p.textMuted);
    }

    void everyMethodHasItsOwnColourAndItIsTheSameInBothThemes() {
        QCOMPARE(methodColor("baseline"), QColor("#6B7280"));
        QCOMPARE(methodColor("dp"), QColor("#E69F00"));
        QCOMPARE(methodColor("ddp"), QColor("#0072B2"));
        std::set<QString> colours;
        for (const char *method : {"baseline", "dp", "ddp", "ps-sync", "ps-async", "pipeline"})
            colours.insert(methodColor(method).name());
        QCOMPARE(int(colours.size()), 6);
    }

    void methodLinesAreSeenOnBothSurfaces() {
        for (const Palette &p : {lightPalette(), darkPalette()})
            for (const char *method : {"baseline", "dp", "ddp"})
                QVERIFY2(contrastRatio(p.surface, methodColor(method)) >= 2.1, method);
    }

    void figuresAreOfEqualWidth() {
        const QFontMetricsF metrics(Theme::figures(Type::Body));
        for (char digit = '0'; digit <= '9'; ++digit)
            QCOMPARE(metrics.horizontalAdvance(QLatin1Char(digit)), metrics.horizontalAdvance(QLatin1Char('1')));
    }

    void aSwitchOfColoursReachesEveryWidgetAtOnce() {
        Theme theme(ThemeMode::Light);
        QSignalSpy changed(&theme, &Theme::changed);
        QVERIFY(!theme.isDark());
        theme.setMode(ThemeMode::Dark);
        QCOMPARE(changed.count(), 1);
        QVERIFY(theme.isDark());
        QCOMPARE(QApplication::palette().color(QPalette::Window), darkPalette().window);
        theme.setMode(ThemeMode::System);
        QVERIFY(qApp->styleSheet().contains(theme.palette().surface.name()));
        QVERIFY2(!qApp->styleSheet().contains(QLatin1Char('@')), "a colour token was left in the style sheet");
        QVERIFY(qApp->styleSheet().contains(controlBorder(theme.palette()).name()));
    }

    void everyPressOfTheThemesButtonFromTheSystemsColoursIsSeen() {
        Theme theme(ThemeMode::System);
        Rail rail(theme);
        auto *button = rail.findChild<QToolButton *>();
        QVERIFY(button);
        const bool system = theme.isDark();
        button->click();
        QCOMPARE(theme.isDark(), !system);
        button->click();
        QCOMPARE(theme.isDark(), system);
        QVERIFY(theme.mode() != ThemeMode::System);
        button->click();
        QCOMPARE(theme.mode(), ThemeMode::System);
    }

    void everyIconDraws() {
        Theme theme(ThemeMode::Light);
        for (const char *name :
             {"plan", "live", "verdict", "runs", "play", "stop", "copy", "export", "bell", "search", "chevron-down",
              "chevron-right", "chevron-up", "theme-dark", "theme-light", "theme-system"})
            QVERIFY2(!theme.icon(name).isNull(), name);
    }
};

QTEST_MAIN(ThemeTest)
#include "theme_test.moc"
