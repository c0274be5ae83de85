// SPDX-License-Identifier: MIT
// Who hears of alerts, and how often; the person's own command.
#include <QSignalSpy>

#include "core_support.h"
#include "follow/alert_feed.h"
#include "ipc/alerts.h"
#include "ipc/clock.h"
#include "queue/alert_command.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::test;

class CoreAlertFeedTest : public QObject {
    Q_OBJECT
    std::vector<RaisedAlert> m_heard;

    static void raise(RunStore &store, AlertFrame alert, std::int64_t agoS = 0) {
        Frame frame;
        frame.wallUs = SystemClock().wallUs() - agoS * 1'000'000;
        frame.body = std::move(alert);
        store.take(frame);
        store.flush();
    }
    void hear(AlertFeed &feed) {
        m_heard.clear();
        connect(&feed, &AlertFeed::raised, &feed, [this](const RaisedAlert &raised) { m_heard.push_back(raised); });
    }

private Q_SLOTS:
    void theFirstOfAKindIsHeardAtOnceAndTheRestTogetherLater() {
        RunStore store(QStringLiteral("20260102T030405Z-89abcdef"));
        AlertFeed feed(nullptr, std::chrono::milliseconds(200));
        hear(feed);
        feed.watch(&store);
        raise(store, makeAlert("straggler", "rank 1 is slow"));
        QCOMPARE(m_heard.size(), std::size_t(1));
        QCOMPARE(m_heard[0].run, store.runId());
        QCOMPARE(sentenceOf(m_heard[0]), QStringLiteral("rank 1 is slow"));
        for (const char *message : {"rank 2 is slow", "rank 3 is slow", "rank 4 is slow"})
            raise(store, makeAlert("straggler", message));
        raise(store, makeAlert("rank_died", "rank 0 was killed")); // another kind does not wait
        QCOMPARE(m_heard.size(), std::size_t(2));
        QTRY_COMPARE(m_heard.size(), std::size_t(3));
        QCOMPARE(sentenceOf(m_heard[2]), QStringLiteral("rank 4 is slow (and 2 more of this kind)"));
        RaisedAlert odd = m_heard[2];
        odd.alert.message = "%2 of %1";
        QCOMPARE(sentenceOf(odd), QStringLiteral("%2 of %1 (and 2 more of this kind)"));
        QTest::qWait(500); // quiet by then
        QCOMPARE(m_heard.size(), std::size_t(3));
        raise(store, makeAlert("straggler", "rank 5 is slow"));
        QCOMPARE(m_heard.size(), std::size_t(4));
    }

    void manyRunsThatFailSoonAfterEachOtherAreHeardAsFewAndNoneIsLost() {
        AlertFeed feed;
        hear(feed);
        for (int i = 1; i <= 50; ++i) {
            RunStore store(QStringLiteral("20260102T030405Z-%1").arg(i, 8, 16, QLatin1Char('0')));
            feed.watch(&store);
            raise(store, makeAlert("rank_failed", "rank 0 of run " + std::to_string(i) + " failed"));
            Frame end;
            end.wallUs = SystemClock().wallUs();
            StateFrame failed;
            failed.state = RunState::Failed;
            end.body = failed;
            store.take(end);
            store.flush();
        }
        QCOMPARE(m_heard.size(), std::size_t(1));
        QCOMPARE(sentenceOf(m_heard[0]), QStringLiteral("rank 0 of run 1 failed"));
        feed.raiseWaiting(); // as the queue does at its end
        QCOMPARE(m_heard.size(), std::size_t(2));
        QCOMPARE(m_heard[1].run, QStringLiteral("20260102T030405Z-00000032"));
        QCOMPARE(sentenceOf(m_heard[1]), QStringLiteral("rank 0 of run 50 failed (and 48 more of this kind)"));
        feed.raiseWaiting();
        QCOMPARE(m_heard.size(), std::size_t(2));
    }

    void overALiveLinkAClockThatIsOffHidesNothing() {
        RunStore store(QStringLiteral("20260102T030405Z-89abcdef"));
        AlertFeed feed;
        hear(feed);
        feed.watch(&store);
        store.setLink(LinkState::Replaying);
        raise(store, makeAlert("rank_died", "of the log"), 3600);
        store.setLink(LinkState::Live);
        store.flush();
        QVERIFY(m_heard.empty());
        raise(store, makeAlert("rank_died", "just now, on a machine an hour behind"), 3600);
        QCOMPARE(m_heard.size(), std::size_t(1));
    }

    void whatIsOldOrNoMatterIsNotHeard() {
        RunStore store(QStringLiteral("20260102T030405Z-89abcdef"));
        raise(store, makeAlert("rank_died", "an earlier rank was killed"), 3600);
        AlertFeed feed;
        hear(feed);
        feed.watch(&store);
        raise(store, {"info", "by_the_way", "all is well", {}});
        QVERIFY(m_heard.empty());
    }

    void whatAStoreHasWhenItIsWatchedIsHeardAndKindsThatAScriptInventsAreOne() {
        RunStore store(QStringLiteral("20260102T030405Z-89abcdef"));
        raise(store, {"warning", "my_alert", "the loss looks odd", {}});
        AlertFeed feed;
        hear(feed);
        feed.watch(&store);
        QCOMPARE(m_heard.size(), std::size_t(1));
        for (int i = 0; i < 1000; ++i)
            raise(store, {"warning", "my_alert_" + std::to_string(i), "odd", {}});
        QCOMPARE(m_heard.size(), std::size_t(1));
    }

    void whatWaitsOfARunThatIsGoneIsHeardInItsTime() {
        AlertFeed feed(nullptr, std::chrono::milliseconds(50));
        hear(feed);
        {
            RunStore store(QStringLiteral("20260102T030405Z-89abcdef"));
            feed.watch(&store);
            raise(store, makeAlert("straggler", "rank 1 is slow"));
            raise(store, makeAlert("straggler", "rank 2 is slow"));
        }
        QCOMPARE(m_heard.size(), std::size_t(1));
        QTRY_COMPARE(m_heard.size(), std::size_t(2));
        QCOMPARE(sentenceOf(m_heard[1]), QStringLiteral("rank 2 is slow"));
    }

    void theCommandGetsWhatHappenedAsTextThatNothingRuns() {
        const QTemporaryDir folder;
        const std::string out = folder.filePath(QStringLiteral("out")).toStdString();
        const std::string hostile =
            "rank 0: $(touch " + folder.filePath(QStringLiteral("trap")).toStdString() + ") `id` \"; exit 1\nnext line";
        const RaisedAlert raised{QStringLiteral("RUN"), QStringLiteral("DDP on 2 devices"),
                                 makeAlert("rank_died", hostile), 0};
        const QString command =
            QStringLiteral("printf '%s|%s|%s|%s|%s|%s' \"$LOCKSTEP_ALERT\" \"$LOCKSTEP_ALERT_KIND\" "
                           "\"$LOCKSTEP_ALERT_SEVERITY\" \"$LOCKSTEP_ALERT_RUN\" "
                           "\"$LOCKSTEP_ALERT_TITLE\" \"$LOCKSTEP_ALERT_ADVICE\" > '%1.new' && "
                           "mv '%1.new' '%1'")
                .arg(QString::fromStdString(out));
        QVERIFY(startAlertCommand(command, raised).has_value());
        QTRY_VERIFY(QFile::exists(QString::fromStdString(out)));
        QCOMPARE(*realFileSystem().readAll(out),
                 hostile + "|rank_died|error|RUN|DDP on 2 devices|" + adviceFor("rank_died"));
        QVERIFY(!QFile::exists(folder.filePath(QStringLiteral("trap"))));
    }
};

QTEST_GUILESS_MAIN(CoreAlertFeedTest)
#include "alert_feed_test.moc"
