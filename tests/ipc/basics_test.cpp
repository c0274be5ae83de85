// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/cores.h"
#include "ipc/crc32c.h"
#include "ipc/disk_space.h"
#include "ipc/documents.h"
#include "ipc/error.h"
#include "ipc/file_system.h"
#include "ipc/json_text.h"
#include "ipc/json_writer.h"
#include "ipc/printable.h"
#include "ipc/sha256.h"
#include "tests/ipc/test_folder.h"
#include "tests/qt_test.h"

namespace lockstep::detail {
std::uint32_t crc32cByTable(std::string_view bytes, std::uint32_t seed);
}

using namespace lockstep;

class BasicsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void crc32cGivesThePublishedVectors() {
        QCOMPARE(crc32c("123456789"), 0xE3069283u);
        QCOMPARE(crc32c(""), 0u);
        QCOMPARE(crc32c(std::string(32, '\0')), 0x8A9136AAu);   // RFC 3720, B.4
        QCOMPARE(crc32c(std::string(32, '\xFF')), 0x62A8AB43u); // RFC 3720, B.4
        QCOMPARE(crcText(0xE3069283u), std::string("e3069283"));
        QCOMPARE(crcText(1), std::string("00000001"));
    }

    void crc32cIsTheSameByHardwareAndByTableAndInPieces() {
        std::string bytes;
        for (int i = 0; i < 300; ++i) {
            const std::string_view whole = bytes;
            QCOMPARE(crc32c(whole), detail::crc32cByTable(whole, 0));
            const std::size_t cut = whole.size() / 3;
            QCOMPARE(crc32c(whole.substr(cut), crc32c(whole.substr(0, cut))), crc32c(whole));
            bytes += static_cast<char>(i * 37);
        }
    }

    void coreListsReadAndWrite_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("written");
        QTest::newRow("one") << "0"
                             << "0";
        QTest::newRow("range") << "0-3,8"
                               << "0-3,8";
        QTest::newRow("unsorted and doubled") << "8,1,0,1-2"
                                              << "0-2,8";
        QTest::newRow("as the kernel writes it") << "0-1\n"
                                                 << "0-1";
        QTest::newRow("ranges within and across each other") << "4-9,0-6,5,2-3,20"
                                                             << "0-9,20";
        for (const char *bad : {"", "a", "1,", ",1", "3-1", "-1", "1-", "1--2", "0-99999999", "1 2", "1;2", "0x1"})
            QTest::newRow(qPrintable("bad: " + QString(bad))) << bad << QString();
        QTest::newRow("all that a machine can have") << "0-65535"
                                                     << "0-65535";
        QTest::newRow("bad: all, and one of them again") << "0-65535,0" << QString();
        QTest::newRow("bad: one again and again") << QString("0,").repeated(65'536) + "0" << QString();
        QTest::newRow("bad: a long word") << QString(240'000, 'x') << QString();
    }
    void coreListsReadAndWrite() {
        QFETCH(QString, text);
        QFETCH(QString, written);
        const auto cores = parseCores(text.toStdString());
        const auto count = coreCount(text.toStdString());
        QCOMPARE(cores.has_value(), !written.isNull());
        QCOMPARE(count.has_value(), cores.has_value());
        if (cores) {
            QCOMPARE(QString::fromStdString(formatCores(*cores)), written);
            QCOMPARE(std::size_t(*count), cores->size());
        } else
            QVERIFY(!cores.error().wayOut.empty() && cores.error().what.size() < 300);
    }

    void cpuDevicesAreDisjointBlocksOfTheAllowedCores() {
        const CoreList allowed{1, 3, 5, 7, 9};
        QCOMPARE(cpuDeviceCount(2, allowed), 2);
        QVERIFY(coresOfCpuDevice(0, 2, allowed).value() == (CoreList{1, 3}));
        QVERIFY(coresOfCpuDevice(1, 2, allowed).value() == (CoreList{5, 7}));
        const auto none = coresOfCpuDevice(7, 1, CoreList{0, 1});
        QVERIFY(!none);
        QCOMPARE(none.error().what, std::string("cpu:7 needs core 8 of 2 allowed"));
        QCOMPARE(cpuDeviceCount(0, allowed), 0);
        QVERIFY(!coresOfCpuDevice(-1, 1, allowed));
    }

    void thisProcessMayRunSomewhere() { QVERIFY(!allowedCores().empty()); }

    void anErrorIsOneLine() {
        const Error error = Error::badArgument("batch size 63\nis odd", "use 62 or 64", "batch_size");
        QCOMPARE(error.message(), std::string("batch_size: batch size 63 is odd; use 62 or 64"));
        QCOMPARE(error.kind, ErrorKind::BadArgument);
        QVERIFY(Error::system("can't open x", ENOENT).message().find("No such file") != std::string::npos);
    }

    void clocksGoOn() {
        const SystemClock clock;
        const auto before = clock.monoNs();
        QVERIFY(clock.monoNs() >= before);
        QVERIFY(clock.wallUs() > 1'600'000'000'000'000);
    }

    void jsonPlacesNameTheLineOfEveryKey() {
        const JsonPlaces places = findPlaces("{\n \"a\": 1,\n \"b\": {\"c\": [1,\n 2]},\n \"a\": \"x\\\"\"\n}");
        QCOMPARE(places.lineOf("/a"), 2);
        QCOMPARE(places.lineOf("/b/c"), 3);
        QCOMPARE(places.lineOf("/b/c/1"), 4);
        QCOMPARE(places.lineOf("/nothing"), 0);
        QVERIFY(places.doubled == std::vector<std::string>{"/a"});
        // What isn't JSON ends quietly.
        for (const char *text : {"", "{", "[", "{\"a", "{\"a\":", "[1,", "]", "{\"a\" 1}", "[[[[", "\"\\"})
            QVERIFY(findPlaces(text).lines.size() < 10);
        QVERIFY(findPlaces(std::string(100'000, '[')).lines.size() < 100);
    }

    void aMillionObjectsInAListAreReadInTimeThatGrowsWithTheirNumber() { // quadratic: hours
        std::string text = R"({"list": [)";
        for (int i = 0; i < 1'000'000; ++i)
            text += "{},";
        text.back() = ']';
        const auto json = documents::parseObject(text + "}", "it");
        QVERIFY(json.has_value());
        QCOMPARE(json->at("list").size(), std::size_t{1'000'000});
    }

    void placesOfATextTakeNoMoreMemoryThanAFewTimesItsOwn() {
        std::string zeros = "[0";
        for (int i = 0; i < 50'000; ++i)
            zeros += ",0";
        const JsonPlaces places = findPlaces("{\"" + std::string(50'000, 'k') + "\": " + zeros + "], \"b\": 1}");
        QCOMPARE(places.lines.size(), std::size_t{1});
        QCOMPARE(places.lineOf("/b"), 1);
        std::string many = "{\"a\": " + zeros + "]";
        for (int i = 0; i < 10; ++i)
            many += ", \"" + std::to_string(i) + "\": " + zeros + "]";
        QCOMPARE(findPlaces(many + "}").lines.size(), std::size_t{100'000});
    }

    void aTerminalGetsNothingThatItObeys() {
        const std::string mark = "\xEF\xBF\xBD";
        QCOMPARE(printable("\x1b]0;title\a\x7f\b"), mark + "]0;title" + mark + mark + mark);
        QCOMPARE(printable(std::string("\xC2\x9B") + "2J"),
                 mark + "2J"); // CSI as one character
        QCOMPARE(printable("a\tb\r\nc\nd\re"), "a\tb\r\nc\nd" + mark + "e");
        QCOMPARE(printable("a\xE2\x80\x8E\xE2\x80\x8F\xE2\x80\xAE\xE2\x81\xA9z\xE2\x80\x90"),
                 "a" + mark + mark + mark + mark + "z\xE2\x80\x90");
        QCOMPARE(printable("grün × 样 \xC2\xA0"), std::string("grün × 样 \xC2\xA0"));
        QCOMPARE(printableName("a\x1b[2J\nb"), std::string("a?[2J?b"));
    }

    void whatIsDrawnTurnsNoNumbersAndArabicAndHebrewStayAsTheyAre() {
        const std::string mark = "\xEF\xBF\xBD";
        const std::string turns = "a\xE2\x80\xAA\xE2\x80\xAE\xE2\x81\xA6\xE2\x81\xA9z";
        const std::string hebrew = "\xD7\xA9\xD7\x9C\xE2\x80\x8F \xE2\x80\x8E(2)";
        QCOMPARE(withoutTurns(turns), "a" + mark + mark + mark + mark + "z");
        QCOMPARE(onOneLine(turns), withoutTurns(turns));
        QCOMPARE(cutText(turns), withoutTurns(turns));
        QCOMPARE(withoutTurns(hebrew), hebrew);
        for (const char *text : {"\xE2", "\xE2\x80", "x\xE2\x80", "\xE2\x80\x90\xE2\x82\xAC", ""}) // cut, or of others
            QCOMPARE(withoutTurns(text), std::string(text));
    }

    void aPipeADeviceOrAFolderIsNotReadAsADocument() {
        const auto folder = test::makeFolder();
        const std::string pipe = folder->filePath(QStringLiteral("pipe")).toStdString();
        QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
        for (const std::string &path : {pipe, std::string("/dev/zero"), folder->path().toStdString()}) {
            const auto text = realFileSystem().readAll(path); // a pipe that nobody writes to must not be waited for
            QVERIFY2(!text && text.error().message().find("is not a regular file") != std::string::npos, path.c_str());
        }
        QVERIFY(!realFileSystem().readAll("/proc/self/status")->empty()); // a file though its size is 0
    }

    void aDocumentLargerThanAnyIsRefused() {
        const auto folder = test::makeFolder();
        const std::string path = folder->filePath(QStringLiteral("large")).toStdString();
        QVERIFY(realFileSystem().writeAtomically(path, "").has_value());
        QCOMPARE(::truncate(path.c_str(), off_t(largestDocument) + 1), 0);
        const auto text = realFileSystem().readAll(path);
        QVERIFY2(!text && text.error().message().find("larger than 64 MiB") != std::string::npos, path.c_str());
        QCOMPARE(::truncate(path.c_str(), 5), 0);
        QCOMPARE(realFileSystem().readAll(path, 5)->size(), std::size_t{5});
        QVERIFY(!realFileSystem().readAll(path, 4));
        QCOMPARE(::truncate(path.c_str(), 2049), 0);
        const auto little = realFileSystem().readAll(path, 2048);
        QVERIFY2(!little && little.error().message().find("larger than 2 KiB") != std::string::npos, path.c_str());
    }

    void sha256IsThatOfTheStandard() { // FIPS 180-2, appendix B.1
        QCOMPARE(sha256Hex("abc"), std::string("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        QCOMPARE(sha256Hex(""), std::string("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
        Sha256 pieces;
        pieces.add("a");
        QCOMPARE(pieces.hex(), sha256Hex("a")); // and more may follow
        pieces.add("bc");
        QCOMPARE(pieces.hex(), sha256Hex("abc"));
    }

    void aDiskIsNearlyFullByItsShareIfSmallAndByWhatIsFreeIfLarge() {
        constexpr double gib = 1024.0 * 1024 * 1024;
        QVERIFY(nearlyFull({0.9 * gib, 20 * gib}));
        QVERIFY(!nearlyFull({1.1 * gib, 20 * gib}));
        QVERIFY(nearlyFull({9.9 * gib, 4000 * gib}));
        QVERIFY(!nearlyFull({10.1 * gib, 4000 * gib}));
        QCOMPARE(reservedBytes({0, 4000 * gib}), gib);
        QCOMPARE(reservedBytes({0, 10 * gib}), 0.5 * gib);
    }

    void invalidUtf8IsReplaced() {
        QCOMPARE(validUtf8("a\xFFz"), std::string("a\xEF\xBF\xBDz"));
        QCOMPARE(validUtf8("\xC0\x80"), std::string("\xEF\xBF\xBD\xEF\xBF\xBD")); // overlong
        QCOMPARE(validUtf8("\xED\xA0\x80"), validUtf8("\xFF\xFF\xFF"));           // a surrogate
        QCOMPARE(validUtf8("grün ✓ 😀"), std::string("grün ✓ 😀"));
        QCOMPARE(utf8Boundary("ü", 1), std::size_t{0});
    }
};

QTEST_GUILESS_MAIN(BasicsTest)
#include "basics_test.moc"
