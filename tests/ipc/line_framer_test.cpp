// SPDX-License-Identifier: MIT

#include "ipc/line_framer.h"
#include "tests/qt_test.h"

using namespace lockstep;

class LineFramerTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void linesAreTheSameHoweverTheBytesArrive() {
        const std::string stream = "one\n\ntwo\nthree is longer\nfour";
        for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
            LineFramer framer;
            std::vector<std::string> lines;
            for (std::size_t at = 0; at < stream.size(); at += piece)
                QVERIFY(framer.feed(std::string_view(stream).substr(at, piece),
                                    [&](std::string_view line) { lines.emplace_back(line); }));
            QVERIFY(lines == (std::vector<std::string>{"one", "", "two", "three is longer"}));
            QCOMPARE(framer.pending(), std::size_t{4});
        }
    }

    void aLineOfExactlyTheLimitPasses() {
        LineFramer framer(10);
        int lines = 0;
        QVERIFY(framer.feed("123456789\n", [&](std::string_view) { ++lines; })); // 10 with its newline
        QCOMPARE(lines, 1);
        QVERIFY(!framer.feed("1234567890\n", [&](std::string_view) { ++lines; }));
        QCOMPARE(lines, 1);
    }

    void anEndlessLineEndsThePeerInBoundedMemory() {
        LineFramer framer;
        const std::string block(4096, 'x');
        std::size_t fed = 0, most = 0;
        const auto never = [](std::string_view) { QFAIL("there is no line"); };
        while (framer.feed(block, never) && fed < 100'000'000) {
            fed += block.size();
            most = std::max(most, framer.pending());
        }
        QVERIFY(fed <= maxFrameBytes);
        QVERIFY(most <= maxFrameBytes);
        QCOMPARE(framer.pending(), std::size_t{0});
        // It takes no more, not even a good line.
        QVERIFY(!framer.feed("{}\n", never));
    }

    void goodLinesBeforeAHugeOneAreGiven() {
        LineFramer framer(16);
        int lines = 0;
        QVERIFY(!framer.feed("good\n" + std::string(100, 'x') + "\ngood\n", [&](std::string_view) { ++lines; }));
        QCOMPARE(lines, 1);
    }
};

QTEST_GUILESS_MAIN(LineFramerTest)
#include "line_framer_test.moc"
