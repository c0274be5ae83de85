// SPDX-License-Identifier: MIT
// The lines of Verdict's head by themselves: what they say, and where the keyboard's focus is while they change.
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QVBoxLayout>

#include "app/ui/pages/verdict/worth_lines.h"
#include "app/ui/widgets/elided_label.h"
#include "app/ui/widgets/first_rows.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::ui;

class WorthLinesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void eachLineSaysInAWordWhetherItsRunIsWorthItAndAFailedOneLeadsToItsConsole() {
        WorthLines lines;
        core::VerdictLine worth, failed, lost;
        worth.run = "DDP on 2 devices";
        worth.against = failed.against = lost.against = "baseline";
        worth.outcome = core::Outcome::WorthIt;
        worth.speedUp = core::SpeedUp{1.42, 1.26, 1.58};
        worth.efficiency = 0.71;
        failed.run = "DP on 2 devices";
        failed.outcome = core::Outcome::Failed;
        failed.reason = "rank 1 was killed by SIGKILL";
        failed.failed = {{1, "the-run", failed.reason}};
        lost = worth;
        lost.run = "DDP on 4 devices";
        lost.failed = {{2, "other-run", "no space left"}, {3, "", "no agent"}};
        lines.show({worth, failed, lost});
        QStringList texts;
        for (const QLabel *label : lines.findChildren<QLabel *>())
            texts.append(label->text());
        QVERIFY(texts.contains("worth it") && texts.contains("1.42× (1.26-1.58), 71 % efficient"));
        QVERIFY(texts.contains("failed") && texts.contains("Rank 1 was killed by SIGKILL"));
        QVERIFY2(texts.contains("Repeat 2 failed: no space left; 1 more failed"), qPrintable(texts.join('|')));
        QSignalSpy console(&lines, &WorthLines::consoleWanted);
        QCOMPARE(lines.consoleButtons().size(), 2);
        for (QPushButton *button : lines.consoleButtons())
            button->click();
        QCOMPARE(console[0][0].toString(), QStringLiteral("the-run"));
        QCOMPARE(console[1][0].toString(), QStringLiteral("other-run"));
    }

    void namesThatDifferInTheirEndsAloneAreToldApartWhereTheyAreCutShort() {
        WorthLines lines;
        core::VerdictLine one, two;
        one.run = "DDP on 2 devices, channels last, mixed precision in bfloat16, batch loader, 2 workers";
        two.run = "DDP on 2 devices, channels last, mixed precision in bfloat16, batch loader, 4 workers";
        one.against = two.against = "baseline";
        lines.show({one, two});
        lines.resize(500, 200);
        lines.setVisible(true);
        QStringList shown;
        for (const auto *name : lines.findChildren<ElidedLabel *>())
            shown.append(name->shownText());
        QCOMPARE(shown.size(), 2);
        QVERIFY2(shown[0].contains(u'…') && shown[0].endsWith(" 2 workers"), qPrintable(shown.join('|')));
        QVERIFY2(shown[1].contains(u'…') && shown[1].endsWith(" 4 workers"), qPrintable(shown.join('|')));
    }

    void howManyRepeatsAreAddedIsReadWhereANameIsCutShort() {
        WorthLines lines;
        core::VerdictLine line;
        line.run = "DDP on 2 devices, channels last, mixed precision in bfloat16, batch loader, 2 workers";
        line.against = "baseline";
        line.outcome = core::Outcome::CantTell;
        line.settles = core::SuggestedRun{"2 repeats, about 1 min 27 s", "Why?", {}};
        line.settles->rounds = 2;
        lines.show({line});
        lines.resize(600, 200);
        lines.setVisible(true);
        const QPushButton *button = lines.buttons().all().front();
        QCOMPARE(button->text(), QStringLiteral("Add 2 repeats, about 1 min 27 s"));
        QVERIFY2(button->width() >= button->sizeHint().width(), qPrintable(QString::number(button->width())));
        QVERIFY(lines.findChild<ElidedLabel *>()->shownText().contains(u'…'));
    }

    void repeatsOfferedAboveAreOfferedOnceWhateverEachLineTakesThemFor() {
        WorthLines lines;
        core::VerdictLine one, same, more;
        one.run = "DP on 2 devices";
        one.against = "baseline";
        one.outcome = core::Outcome::CantTell;
        one.settles = core::SuggestedRun{"2 repeats", "For three repeats of each.", {}};
        one.settles->rounds = 2;
        same = more = one;
        same.run = "DDP on 2 devices";
        same.settles->why = "For three quiet rounds.";
        more.run = "DDP on 4 devices";
        more.settles->name = "9 repeats";
        more.settles->rounds = 9;
        lines.show({one, same, more});
        QCOMPARE(lines.buttons().all().size(), 2);
        QCOMPARE(lines.buttons().all().back()->text(), QStringLiteral("Add 9 repeats"));
    }

    void anEndlessReasonIsShownByItsBeginning() {
        WorthLines lines;
        core::VerdictLine failed;
        failed.run = "DDP on 2 devices";
        failed.against = "baseline";
        failed.outcome = core::Outcome::Failed;
        failed.reason = "Rank 1 says " + std::string(16'000, 'x');
        failed.failed = {{1, "the-run", failed.reason}};
        lines.show({failed});
        int found = 0;
        for (const QLabel *label : lines.findChildren<QLabel *>())
            if (label->text().startsWith("Rank 1 says ")) {
                ++found;
                QVERIFY(label->text().size() < 2100 && label->text().endsWith(u'…'));
            }
        QCOMPARE(found, 1);
    }

    void ofVeryManySentencesTheFirstAreShownAndALineSaysSo() {
        QCOMPARE(sentenceLines({}), QString());
        QCOMPARE(sentenceLines({"One.", "Two."}), QStringLiteral("• One.\n• Two."));
        const QStringList many = sentenceLines(std::vector<std::string>(1000, "One.")).split('\n');
        QCOMPARE(many.size(), 101);
        QCOMPARE(many.back(), QStringLiteral("The first 100 of 1,000 are shown"));
        const QString endless = sentenceLines(std::vector<std::string>(50, std::string(16'000, 'x')));
        QVERIFY(endless.size() > 30'000 && endless.size() < 34'000);
        QVERIFY(endless.endsWith("\nThe first 8 of 50 are shown"));
    }

    void theKeyboardsFocusStaysInItsPlaceWhileTheButtonsThereAreDisabledAndMadeAnew() {
        QWidget window;
        auto *column = new QVBoxLayout(&window);
        auto *lines = new WorthLines(&window);
        auto *next = new QPushButton(QStringLiteral("next"), &window);
        column->addWidget(lines);
        column->addWidget(next);
        core::VerdictLine line;
        line.run = "DDP on 2 devices";
        line.against = "baseline";
        line.outcome = core::Outcome::CantTell;
        line.settles = core::SuggestedRun{"1 repeat", "Why?", {}};
        lines->show({line});
        window.show();
        const auto button = [&] { return lines->buttons().all().front(); };
        button()->setFocus();
        lines->buttons().setStartable(false, QStringLiteral("asked"));
        QCOMPARE(window.focusWidget(), static_cast<QWidget *>(lines));
        line.settles->name = "2 repeats";
        lines->show({line});
        QCOMPARE(window.focusWidget(), static_cast<QWidget *>(lines));
        lines->buttons().setStartable(true, {});
        QCOMPARE(window.focusWidget(), static_cast<QWidget *>(button()));
        QCOMPARE(lines->focusPolicy(), Qt::NoFocus);

        line.settles->name = "3 repeats";
        lines->show({line}); // startable all the time
        QCOMPARE(window.focusWidget(), static_cast<QWidget *>(button()));
        lines->buttons().setStartable(false, QStringLiteral("asked"));
        next->setFocus();
        lines->buttons().setStartable(true, {});
        QCOMPARE(window.focusWidget(), static_cast<QWidget *>(next));
    }
};

QTEST_MAIN(WorthLinesTest)
#include "worth_lines_test.moc"
