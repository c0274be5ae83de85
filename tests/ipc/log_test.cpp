// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <numeric>

#include "ipc/crc32c.h"
#include "ipc/log.h"
#include "sample_frames.h"
#include "test_folder.h"
#include "tests/qt_test.h"

using namespace lockstep;

namespace {

Frame header() {
    Frame frame;
    frame.body = HeaderFrame{logFormat, "20260102T030405Z-89abcdef", "box"};
    return frame;
}

std::string numbered(int i) {
    Frame frame;
    frame.rank = 0;
    frame.rseq = static_cast<std::uint64_t>(i);
    frame.body = LogFrame{"info", "line " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 7), '.'), ""};
    return encode(frame);
}

std::string contents(const std::string &path) {
    return realFileSystem().readAll(path).value_or("");
}

void overwrite(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

struct Read {
    LogReadReport report;
    std::vector<std::uint64_t> seqs;
};

Read readAll(const std::string &path, std::uint64_t fromSeq = 0) {
    Read read;
    Decoder decoder;
    const auto report = readLog(path, fromSeq, [&](std::string_view line) {
        const auto frame = decoder.decode(line);
        read.seqs.push_back(frame && frame->seq ? *frame->seq : 999'999'999);
    });
    if (report)
        read.report = *report;
    return read;
}

std::vector<std::uint64_t> upTo(std::uint64_t n) {
    std::vector<std::uint64_t> seqs(n);
    std::iota(seqs.begin(), seqs.end(), 0u);
    return seqs;
}

} // namespace

class LogTest : public QObject {
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> m_folder;
    std::string m_path;

    LogWriter openLog() { return std::move(LogWriter::open(realFileSystem(), m_path, 0, header()).value()); }
    void writeLog(int lines) {
        LogWriter writer = openLog();
        for (int i = 1; i < lines; ++i)
            writer.append(numbered(i));
    }

private Q_SLOTS:
    void init() {
        m_folder = test::makeFolder();
        m_path = m_folder->filePath("node-0.ndjson").toStdString();
    }

    void aSealedLineProvesItself() {
        const std::string line = sealLine(R"({"type":"heartbeat","mono_ns":1,"wall_us":2})", 3, 17);
        const std::string_view head = R"({"type":"heartbeat","mono_ns":1,"wall_us":2,"node":3,"seq":17,"crc":)";
        QVERIFY(line.starts_with(head));
        QVERIFY(crcHolds(line));
        QVERIFY(Decoder().decode(line).has_value());
        QVERIFY(crcHolds(sealLine("{}", 0, 0)));
        for (std::size_t at = 0; at < line.size(); ++at) {
            for (int bit = 0; bit < 8; ++bit) {
                std::string flipped = line;
                flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
                QVERIFY2(!crcHolds(flipped), flipped.c_str());
            }
            QVERIFY(!crcHolds(std::string_view(line).substr(0, at)));
        }
        QVERIFY(!crcHolds(""));
        QVERIFY(!crcHolds(line + " "));
    }

    void aNewLogBeginsWithItsHeader() {
        LogWriter writer = openLog();
        QCOMPARE(writer.nextSeq(), std::uint64_t{1});
        const std::string line = writer.append(numbered(1));
        QCOMPARE(writer.nextSeq(), std::uint64_t{2});
        QVERIFY(writer.sync());
        const std::string text = contents(m_path);
        QCOMPARE(writer.bytes(), std::uint64_t{text.size()});
        QVERIFY(text.starts_with("{\"type\":\"header\",\"mono_ns\""));
        QVERIFY(text.ends_with(line + "\n"));
        QCOMPARE(QFileInfo(QString::fromStdString(m_path)).permissions() &
                     (QFile::ReadGroup | QFile::ReadOther | QFile::WriteOther),
                 QFile::Permissions());
        QVERIFY(readAll(m_path).seqs == upTo(2));
    }

    void anOpenedLogGoesOnWhereItEnded() {
        writeLog(5);
        LogWriter writer = openLog();
        QCOMPARE(writer.nextSeq(), std::uint64_t{5});
        writer.append(numbered(5));
        QVERIFY(readAll(m_path).seqs == upTo(6));
    }

    void readingFromALaterLineGivesOnlyTheRest() {
        writeLog(10);
        const Read read = readAll(m_path, 7);
        QVERIFY(read.seqs == (std::vector<std::uint64_t>{7, 8, 9}));
        QCOMPARE(read.report.lines, std::uint64_t{3});
        QVERIFY(readAll(m_path, 10).seqs.empty());
        QVERIFY(!readLog(m_path + "-missing", 0, [](std::string_view) {}));
    }

    /// With a checksum that holds, but as no agent seals it: found by fuzzing.
    void aLineWithoutItsNodeOrWithASeqThatNoneFollowsIsDamaged() {
        const auto sealed = [](std::string body) { return body + ",\"crc\":\"" + crcText(crc32c(body)) + "\"}"; };
        const std::string good = sealed(R"({"type":"log","node":0,"seq":0)");
        const auto place = placeOfSealedLine(good);
        QVERIFY(place && place->node == 0 && place->seq == 0);
        for (const char *body :
             {R"({"type":"log","seq":0)", R"({"type":"log","node":-1,"seq":0)", R"({"type":"log","node":4096,"seq":0)",
              R"({"type":"log","node":0,"seq":18446744073709551615)",
              R"({"type":"log","node":0,"seq":9223372036854775808)", R"({"type":"log","node":0,"seq":-1)"}) {
            const std::string line = sealed(body);
            QVERIFY2(crcHolds(line) && !placeOfSealedLine(line), body);
            LineChecker checker;
            QVERIFY2(checker.check(line) == LineChecker::Verdict::Damaged, body);
            QVERIFY2(checker.check(good) == LineChecker::Verdict::Good, body); // and the numbers go on
        }
    }

    /// The frame's reader would take the other key, and the line for another node's.
    void aKeyThatOnlyEndsLikeTheSealsNodeIsNoPartOfTheSeal() {
        const auto sealed = [](std::string body) { return body + ",\"crc\":\"" + crcText(crc32c(body)) + "\"}"; };
        const std::string head =
            R"({"type":"state","mono_ns":1,"wall_us":1,"state":"failed","node":0,)" + std::string("\"");
        for (const char *before : {"\\", "x\\", ",\\", "{\\", "\\\\\\"}) { // each ends in the backslash of a quote
            const std::string line = sealed(head + before + "\"node\":1,\"seq\":0");
            const auto frame = Decoder().decode(line);
            QVERIFY2(frame && frame->node == 0, line.c_str());
            QVERIFY2(crcHolds(line) && !placeOfSealedLine(line), line.c_str());
        }
        for (const char *frame : {"{}", "{\"\\\"node\":5}", R"({"type":"log"})"}) {
            const auto place = placeOfSealedLine(sealLine(frame, 3, 4));
            QVERIFY2(place && place->node == 3 && place->seq == 4, frame);
        }
    }

    // Fault 13: any byte of a log flipped.
    void aFlippedByteLosesOnlyItsRecordAndTheGapSaysWhich() {
        constexpr int lines = 12;
        writeLog(lines);
        const std::string good = contents(m_path);
        std::uint64_t seq = 0, random = 99;
        for (std::size_t at = 0; at < good.size(); ++at) {
            random = random * 6364136223846793005ull + 1442695040888963407ull;
            std::string bad = good;
            bad[at] = static_cast<char>(bad[at] ^ (1 + (random >> 33) % 255));
            overwrite(m_path, bad);
            const Read read = readAll(m_path);
            // A damaged newline loses nothing, but at the very end it leaves a torn record.
            const bool newline = good[at] == '\n', last = at + 1 == good.size(), lost = !newline || last;
            QCOMPARE(read.seqs.size(), std::size_t(lines - lost));
            QCOMPARE(std::find(read.seqs.begin(), read.seqs.end(), seq) == read.seqs.end(), lost);
            QCOMPARE(read.report.tornTail, newline && last);
            QVERIFY2(read.report.gaps == (newline ? LogGaps{} : LogGaps{{seq, seq}}), std::to_string(at).c_str());
            if (newline)
                ++seq;
        }
    }

    void aByteThatBecomesANewlineLosesOneRecordNotTwo() {
        constexpr std::uint64_t lines = 5;
        writeLog(lines);
        const std::string good = contents(m_path);
        std::uint64_t seq = 0;
        for (std::size_t at = 0; at + 1 < good.size(); ++at) {
            if (good[at] == '\n') {
                ++seq;
                continue;
            }
            std::string bad = good;
            bad[at] = '\n';
            overwrite(m_path, bad);
            const Read read = readAll(m_path);
            QCOMPARE(read.seqs.size(), std::size_t{lines - 1});
            QVERIFY(read.report.gaps == (LogGaps{{seq, seq}}));
        }
    }

    void aWriterKeepsTheLastTwoRecordsThoughTheLineEndBetweenThemIsDamaged() {
        writeLog(4);
        std::string bad = contents(m_path);
        bad[bad.rfind('\n', bad.size() - 2)] = '\v';
        overwrite(m_path, bad);
        LogWriter writer = openLog();
        QCOMPARE(writer.nextSeq(), std::uint64_t{4});
        writer.append(numbered(4));
        QVERIFY(readAll(m_path).seqs == upTo(5));
    }

    void aKeyLikeTheSealsInsideADamagedLineHidesNoRecord() {
        const std::string inside = sealLine(R"({"type":"log","about":{"a":1,"crc":"x"}})", 0, 0),
                          after = sealLine("{}", 0, 1);
        const std::string line = inside + " " + after;
        LineRecords records(line);
        QVERIFY(records.next() && records.place() && records.place()->seq == 0 && records.record() == inside);
        QVERIFY(records.next() && records.place() && records.place()->seq == 1 && records.record() == after);
        QVERIFY(!records.next());
    }

    // Fault 12: a power loss may end the file anywhere.
    void aLogCutAnywhereOpensAndLosesAtMostTheTornLine() {
        constexpr int lines = 8;
        writeLog(lines);
        const std::string good = contents(m_path);
        for (std::size_t length = 0; length <= good.size(); ++length) {
            overwrite(m_path, good.substr(0, length));
            const auto whole = static_cast<std::uint64_t>(
                std::count(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length), '\n'));
            const Read read = readAll(m_path);
            QVERIFY(read.seqs == upTo(whole));
            QVERIFY(read.report.gaps.empty());
            QCOMPARE(read.report.tornTail, length > 0 && good[length - 1] != '\n');
            LogWriter writer = openLog();
            QCOMPARE(writer.nextSeq(), std::max<std::uint64_t>(1, whole));
            writer.append(numbered(lines));
            QVERIFY(readAll(m_path).seqs == upTo(std::max<std::uint64_t>(1, whole) + 1));
        }
    }

    void aTailOfZerosIsATornTail() {
        writeLog(4);
        overwrite(m_path, contents(m_path) + std::string(5000, '\0'));
        LogWriter writer = openLog();
        QCOMPARE(writer.nextSeq(), std::uint64_t{4});
        overwrite(m_path + "2", std::string(4096, '\0'));
        QVERIFY(LogWriter::open(realFileSystem(), m_path + "2", 0, header()));
    }

    void damageInTheMiddleStaysAndIsShown() {
        writeLog(6);
        std::string bad = contents(m_path);
        bad[bad.size() / 2] = '#';
        overwrite(m_path, bad);
        LogWriter writer = openLog();
        QCOMPARE(writer.nextSeq(), std::uint64_t{6});
        writer.append(numbered(6));
        const Read read = readAll(m_path);
        QCOMPARE(read.report.gaps.count(), std::size_t{1});
        QCOMPARE(read.report.damagedLines, std::uint64_t{1});
        QCOMPARE(read.seqs.back(), std::uint64_t{6});
    }

    void aFileThatIsNoLogIsLeftAlone() {
        const std::string thesis = "my thesis\nchapter 1\n";
        overwrite(m_path, thesis);
        const auto writer = LogWriter::open(realFileSystem(), m_path, 0, header());
        QVERIFY(!writer);
        QVERIFY(writer.error().message().find("not a log") != std::string::npos);
        QCOMPARE(contents(m_path), thesis);
    }

    void theLogOfAnotherNodeOrOfANewerVersionIsLeftAlone() {
        writeLog(3);
        const auto other = LogWriter::open(realFileSystem(), m_path, 1, header());
        QVERIFY(!other);
        QVERIFY(other.error().message().find("of node 0") != std::string::npos);
        Frame newer = header();
        std::get<HeaderFrame>(newer.body).format = logFormat + 1;
        const std::string text = sealLine(encode(newer), 0, 0) + "\n";
        overwrite(m_path, text);
        const auto refused = LogWriter::open(realFileSystem(), m_path, 0, header());
        QVERIFY(!refused);
        QVERIFY(refused.error().message().find("newer") != std::string::npos);
        QCOMPARE(contents(m_path), text);
    }

    void linesGivenTwiceAreDropped() {
        LineChecker checker(2);
        QCOMPARE(checker.check(sealLine("{}", 0, 2)), LineChecker::Verdict::Good);
        QCOMPARE(checker.check(sealLine("{}", 0, 1)), LineChecker::Verdict::Doubled);
        QCOMPARE(checker.check(sealLine("{}", 0, 2)), LineChecker::Verdict::Doubled);
        QCOMPARE(checker.check(sealLine("{}", 0, 3)), LineChecker::Verdict::Good);
        QCOMPARE(checker.check("junk"), LineChecker::Verdict::Damaged);
        QCOMPARE(checker.check(sealLine("{}", 0, 7)), LineChecker::Verdict::Good);
        QVERIFY(checker.gaps() == (LogGaps{{4, 6}}));
        QCOMPARE(checker.gaps().listed()[0].count(), std::uint64_t{3});
        QCOMPARE(checker.damagedLines(), std::uint64_t{1});
        QCOMPARE(checker.nextSeq(), std::uint64_t{8});
    }

    void ofALogThatIsAllGapsTheFirstOnesAreListedAndTheOthersCounted() {
        constexpr std::uint64_t listed = LogGaps::mostListed, gaps = listed + 2;
        std::string text;
        for (std::uint64_t i = 0; i <= gaps; ++i)
            text += sealLine("{}", 0, i * 3) + "\n"; // two lines are missing between any two
        overwrite(m_path, text);
        const LogGaps found = readAll(m_path).report.gaps;
        QCOMPARE(found.listed().size(), std::size_t(listed));
        QVERIFY(found.listed().back() == (LogGap{listed * 3 - 2, listed * 3 - 1}));
        QCOMPARE(found.count(), gaps);
        QCOMPARE(found.frames(), 2 * gaps);
        QCOMPARE(found.textOfOthers(), std::string("and 2 more gaps: 4 frames lost"));
        LogGaps both{{1, 1}};
        both.add(found);
        QCOMPARE(both.listed().size(), std::size_t(listed));
        QCOMPARE(both.count(), gaps + 1);
        QCOMPARE(both.textOfOthers(), std::string("and 3 more gaps: 6 frames lost"));
        QVERIFY((LogGaps{{1, 1}}).textOfOthers().empty());
        QVERIFY(readAll(m_path, gaps * 3 - 1).report.gaps == (LogGaps{{gaps * 3 - 1, gaps * 3 - 1}}));
    }

    void aHugeDamagedLineIsSkippedInBoundedMemory() {
        writeLog(4);
        const std::string good = contents(m_path);
        const std::size_t second = good.find('\n') + 1;
        overwrite(m_path, good.substr(0, second) + std::string(8'000'000, 'x') + "\n" + good.substr(second));
        const Read read = readAll(m_path);
        QVERIFY(read.seqs == upTo(4));
        QCOMPARE(read.report.damagedLines, std::uint64_t{1});
    }

    void aHoleOfATebibyteIsSkippedAndTheLinesAfterItAreRead() {
        writeLog(4);
        const std::string good = contents(m_path);
        const std::size_t second = good.find('\n') + 1;
        constexpr off_t hole = off_t(1) << 40;
        overwrite(m_path, good.substr(0, second));
        const int fd = ::open(m_path.c_str(), O_WRONLY | O_CLOEXEC);
        const std::string rest = "\n" + good.substr(second);
        const ssize_t written = ::pwrite(fd, rest.data(), rest.size(), hole);
        ::close(fd);
        if (written < 0)
            QSKIP("this file system has no file of a tebibyte");
        const Read read = readAll(m_path);
        QVERIFY(read.seqs == upTo(4));
        QCOMPARE(read.report.damagedLines, std::uint64_t{1});
        QVERIFY(truncate(m_path.c_str(), hole) == 0); // nothing but the hole is left after the first line
        QVERIFY(readAll(m_path).report.tornTail);
    }

    void linesAcrossReadBlocksAreWhole() {
        LogWriter writer = openLog();
        for (int i = 1; i < 40; ++i) {
            Frame frame;
            frame.body = LogFrame{"info", std::string(30'000 + static_cast<std::size_t>(i) * 13, 'y'), ""};
            writer.append(encode(frame));
        }
        QVERIFY(readAll(m_path).seqs == upTo(40));
    }
};

QTEST_GUILESS_MAIN(LogTest)
#include "log_test.moc"
