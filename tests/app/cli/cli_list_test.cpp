// SPDX-License-Identifier: MIT
// What scripts take from lockstepctl list, and what its tags and options make of odd input.
#include <QJsonArray>

#include <cmath>

#include "core_support.h"
#include "store/run_notes.h"
#include "tests/app/cli/control.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

class CoreCliListTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void jsonHasTheColumnsThatAreAskedFor() {
        const Home home;
        const std::string run = finishedRun(1);
        RunResult result = doneResult(run, 10, 20);
        result.surroundings = Surroundings{20, 34.4, {}, {}, {}};
        write(runFolder(run).result(), toJson(result));
        const QStringList asked = {"list", "--json", "--columns", "name,surroundings,lr,accuracy"};
        const QJsonObject row = control(asked).json()["runs"].toArray()[0].toObject()["columns"].toObject();
        QCOMPARE(row.size(), 4);
        QCOMPARE(row["name"].toString(), QStringLiteral("DDP on 2 devices"));
        QVERIFY(std::abs(row["surroundings"].toDouble() - 1.72) < 1e-9);
        QCOMPARE(row["lr"].toDouble(), 0.01);
        QVERIFY(row["accuracy"].isNull());
        const QJsonObject group =
            control(asked + QStringList{"--group"}).json()["groups"].toArray()[0].toObject()["columns"].toObject();
        QCOMPARE(group["name"].toString(), QStringLiteral("DDP on 2 devices"));
        QVERIFY(std::abs(group["surroundings"].toDouble() - 1.72) < 1e-9);
        QVERIFY(!control({"list", "--json"}).json()["runs"].toArray()[0].toObject().contains("columns"));
    }

    void everyFormOfTheListSaysWhichRunsCantBeRead() {
        const Home home;
        const std::string refused = finishedRun(1);
        write(runFolder(refused).config(), "{");
        const QString words = "Not listed, since the record can't be read: " + id(refused);
        const Said alone = control({"list", "--columns", "run"});
        QVERIFY2(alone.error.startsWith(words) && alone.out.isEmpty(), qPrintable(alone.out + alone.error));
        const std::string shown = finishedRun(2);
        for (const QStringList &options : {QStringList{"--columns", "run"}, QStringList{"--filter", "method=ddp"}}) {
            const Said said = control(QStringList{"list"} + options);
            QVERIFY2(said.error.startsWith(words), qPrintable(said.error));
            QVERIFY(said.out.contains(id(shown)) && !said.out.contains(id(refused)));
            const QJsonObject json = control(QStringList{"list", "--json"} + options).json();
            QCOMPARE(json["unreadable"].toArray(), QJsonArray{id(refused)});
        }
    }

    void aTagIsRemovedAsItIsFoundAndARunGivenTwiceCountsOnce() {
        const Home home;
        const std::string run = finishedRun(1);
        QCOMPARE(control({"tag", "Slow,kept", id(run), id(run)}).out, QStringLiteral("1 run tagged Slow, kept\n"));
        QCOMPARE(control({"tag", "SLOW", id(run), "--remove"}).code, 0);
        QCOMPARE(readRunNotes(runFolder(run))->tags, std::vector<std::string>{"kept"});
    }

    void aSeedOfTheOrderBelowZeroIsRefused() {
        const Home home;
        const Said said = control({"run", "lenet-dp-vs-ddp", "--order-seed", "-1"});
        QCOMPARE(said.code, 2);
        QVERIFY2(said.error.contains("--order-seed") && said.error.contains("is a whole number from 0 on, not -1"),
                 qPrintable(said.error));
    }
};

QTEST_GUILESS_MAIN(CoreCliListTest)
#include "cli_list_test.moc"
