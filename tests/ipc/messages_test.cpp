// SPDX-License-Identifier: MIT

#include "ipc/messages.h"
#include "ipc/printable.h"
#include "tests/qt_test.h"

using namespace lockstep;

class MessagesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void hellosComeBackAsTheyWere() {
        Hello agent;
        agent.role = "agent";
        agent.run = "20260102T030405Z-89abcdef";
        agent.node = 0;
        agent.nextSeq = 4711;
        agent.live = true;
        const std::string line = encode(agent);
        const std::string expected =
            R"({"type":"hello","protocol":"1.0","role":"agent","run":"20260102T030405Z-89abcdef",)"
            R"("node":0,"next_seq":4711,"live":true})";
        QCOMPARE(line, expected);
        const auto back = decodeHello(line);
        QVERIFY(back.has_value());
        QVERIFY(back->live && back->nextSeq == 4711 && back->node == 0 && back->run == agent.run && !back->rank);

        Hello follower;
        follower.role = "follower";
        follower.nextSeq = 17;
        follower.pid = 123;
        follower.name = "lockstep";
        const auto again = decodeHello(encode(follower));
        QVERIFY(again.has_value());
        QVERIFY(again->pid == 123 && again->name == "lockstep" && !again->live && !again->ownsQueue);
        follower.ownsQueue = true;
        QVERIFY(decodeHello(encode(follower))->ownsQueue);
    }

    void theExamplesOfTheHeaderAreTaken() {
        const auto hello = decodeHello(R"({"type":"hello","protocol":"1.0","role":"rank","rank":0,"next_seq":0})");
        QVERIFY(hello.has_value());
        QCOMPARE(hello->rank.value(), 0);
        const auto control = decodeControl(R"({"type":"control","command":"stop","by":"lockstepctl on box"})");
        QVERIFY(control.has_value());
        QCOMPARE(control->command, std::string("stop"));
        QCOMPARE(control->by, std::string("lockstepctl on box"));
    }

    void anotherMinorVersionIsTaken() {
        const auto hello = decodeHello(R"({"type":"hello","protocol":"1.7","role":"follower","next_seq":0,"new":[1]})");
        QVERIFY(hello.has_value());
        QCOMPARE(hello->minor, 7);
    }

    void anotherMajorVersionIsRefusedAndSaysWhatToUpgrade() {
        const auto newer = decodeHello(R"({"type":"hello","protocol":"2.0","role":"follower","next_seq":0})");
        QVERIFY(!newer);
        QCOMPARE(newer.error().message(),
                 std::string("the peer speaks protocol 2.0, this side 1.0; upgrade Lockstep on this side"));
        const auto older = decodeHello(R"({"type":"hello","protocol":"0.9","role":"follower","next_seq":0})");
        QVERIFY(!older);
        QVERIFY(older.error().wayOut.find("the peer's side") != std::string::npos);
    }

    void aPeersErrorIsTheError() {
        const auto refused = decodeHello(encodeProtocolError("upgrade \"this\""));
        QVERIFY(!refused);
        QCOMPARE(refused.error().message(), std::string("upgrade \"this\""));
    }

    void aPeersWordsGiveATerminalNoOrders() {
        for (const std::string &line : {encodeProtocolError("\x1b]0;title\x07 \xe2\x80\xae no"),
                                        std::string("{\"type\":\"\\u001b[2J\\u202e\"}"), std::string("\x1b[2J\x07")}) {
            const auto refused = decodeHello(line);
            QVERIFY(!refused);
            QCOMPARE(refused.error().message(), printable(refused.error().message()));
        }
    }

    void nonsenseIsRefused_data() {
        QTest::addColumn<QByteArray>("line");
        int i = 0;
        for (const char *line : {"", "{", "null", "[1]", R"({"type":"hello"})", R"({"type":"steps"})", R"({"type":7})",
                                 R"({"type":"hello","protocol":1.0,"role":"rank","rank":0})",
                                 R"({"type":"hello","protocol":"1","role":"rank","rank":0})",
                                 R"({"type":"hello","protocol":"1.x","role":"rank","rank":0})",
                                 R"({"type":"hello","protocol":"1.-1","role":"rank","rank":0})",
                                 R"({"type":"hello","protocol":"1.0","role":"boss"})",
                                 R"({"type":"hello","protocol":"1.0","role":"rank"})",
                                 R"({"type":"hello","protocol":"1.0","role":"rank","rank":-1})",
                                 R"({"type":"hello","protocol":"1.0","role":"rank","rank":99999999999})",
                                 R"({"type":"hello","protocol":"1.0","role":"follower","next_seq":"0"})"})
            QTest::newRow(qPrintable(QString::number(i++))) << QByteArray(line);
    }
    void nonsenseIsRefused() {
        QFETCH(QByteArray, line);
        const auto hello = decodeHello(line.toStdString());
        QVERIFY(!hello);
        QVERIFY(!hello.error().message().empty());
        QVERIFY(!decodeControl(line.toStdString()));
    }

    void deepAndLongLinesAreRefused() {
        QVERIFY(!decodeHello(std::string(60'000, '[')));
        const std::string head = R"({"type":"hello","x":)", nameless = R"({"type":"control","by":"me"})";
        QVERIFY(!decodeHello(head + std::string(30'000, '[') + std::string(30'000, ']') + "}"));
        QVERIFY(!decodeControl(std::string(1'000'000, 'x')));
        QVERIFY(!decodeControl(nameless));
    }
};

QTEST_GUILESS_MAIN(MessagesTest)
#include "messages_test.moc"
