// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <malloc.h>

#include <doctest/doctest.h>

#include "tests/trainer/peers.h"
#include "trainer/data/delimited_text.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

namespace {

using Columns = std::vector<std::vector<std::string>>;

class TextFile {
public:
    explicit TextFile(std::string_view text, const std::string &name = "texts.csv") : m_path(m_folder / name) {
        writeFile(m_path, text);
    }
    [[nodiscard]] const std::string &path() const { return m_path; }
    /// Nothing if it can't be read.
    [[nodiscard]] Columns read(const std::vector<std::string> &names) const {
        const auto columns = readColumns(m_path, names);
        return columns ? *columns : Columns{};
    }
    /// Without the folder.
    [[nodiscard]] std::string complaint(const std::vector<std::string> &names) const {
        const auto columns = readColumns(m_path, names);
        if (columns)
            return "none";
        CHECK(columns.error().kind == ErrorKind::BadArgument);
        std::string message = columns.error().message();
        if (const auto at = message.find(m_folder.path()); at != std::string::npos)
            message.erase(at, m_folder.path().size() + 1);
        return message;
    }

private:
    TempFolder m_folder;
    std::string m_path;
};

/// Bytes that this process has from malloc now; with AddressSanitizer none are known.
std::size_t bytesHeld() {
    const struct mallinfo2 held = ::mallinfo2();
    return held.uordblks + held.hblkhd;
}

/// A CSV text of three columns that uses everything fields may hold.
std::string nastyText(std::mt19937 &random) {
    const char *const parts[] = {"a",    "word ", "\"\"", ",", "\n",       "\r\n",         "\r",       " ",
                                 "\xff", "\t",    "'",    "",  "\xc3\xa9", "\xe4\xb8\xad", "\"\"\"\"", ";"};
    const char *const plain[] = {"a", "b\"c", " \"d\"", "", "'", "\xff\xfe", "e f", "\t"};
    const char *const lineEnds[] = {"\n", "\r\n", "\r"};
    std::string text = "x,y,z";
    for (int record = 0; record < 40; ++record) {
        text += lineEnds[random() % 3];
        for (int blank = random() % 5 == 0; blank > 0; --blank)
            text += lineEnds[random() % 2];
        for (int field = 0; field < 3; ++field) {
            text += field > 0 ? "," : "";
            if (random() % 2) {
                text += plain[random() % std::size(plain)];
                continue;
            }
            text += '"';
            for (auto left = random() % 6; left > 0; --left)
                text += parts[random() % std::size(parts)];
            text += '"';
            if (random() % 8 == 0)
                text += "after\"it"; // not RFC 4180, yet found in the wild
        }
    }
    return text + (random() % 2 ? "\n" : "");
}

} // namespace

TEST_SUITE("delimited_text") {
    TEST_CASE("columns are given by name, in the order asked for, and may be asked for twice") {
        const TextFile file("label,id,text\n1,7,good\n0,8,bad\n");
        CHECK(file.read({"text", "label"}) == Columns{{"good", "bad"}, {"1", "0"}});
        CHECK(file.read({"id", "id"}) == Columns{{"7", "8"}, {"7", "8"}});
    }

    TEST_CASE("a quoted field holds commas, line ends and doubled quotes") {
        const TextFile file(
            "text,label\n\"one, two\",1\n\"first\nsecond\r\nthird\",2\n\"she said \"\"no\"\"\",3\n\"\",4\n");
        CHECK(file.read({"text", "label"}) ==
              Columns{{"one, two", "first\nsecond\r\nthird", "she said \"no\"", ""}, {"1", "2", "3", "4"}});
    }

    TEST_CASE("a quote within an unquoted field is an ordinary character") {
        CHECK(TextFile("a,b\n5\" disk,\"x\"y\n").read({"a", "b"}) == Columns{{"5\" disk"}, {"xy"}});
    }

    TEST_CASE("line ends may be those of any system, the last may be missing, and empty lines are skipped") {
        for (const char *const text :
             {"a,b\r\n1,2\r\n3,\r\n", "a,b\n1,2\n3,", "a,b\r1,2\r3,\r", "\n\na,b\n\n1,2\n\r\n3,\n\n"}) {
            CAPTURE(text);
            CHECK(TextFile(text).read({"a", "b"}) == Columns{{"1", "3"}, {"2", ""}});
        }
    }

    TEST_CASE("a byte order mark is no part of the first name, and bytes that are not UTF-8 stay") {
        CHECK(TextFile("\xef\xbb\xbf"
                       "a,b\n\xff,\xef\xbb\xbf\n")
                  .read({"a", "b"}) == Columns{{"\xff"}, {"\xef\xbb\xbf"}});
    }

    TEST_CASE("a file named .tsv, or with a tab in its first line, has tabs between its fields") {
        CHECK(TextFile("a\tb\n1,5\t\"x\ty\"\n").read({"a", "b"}) == Columns{{"1,5"}, {"x\ty"}});
        CHECK(TextFile("a,b\n1,5\n", "texts.tsv").read({"a,b"}) == Columns{{"1,5"}});
    }

    TEST_CASE("what is wrong is said in one sentence with the line") {
        CHECK(TextFile("label,text\n1,good\n").complaint({"sentence"}) ==
              "texts.csv: no column is named 'sentence'; it has 'label', 'text'");
        CHECK(
            TextFile("a,b\n\"1\n2\",3\n4\n").complaint({"a"}) ==
            "texts.csv:4: the record has 1 field, but the first line names 2; put a field that holds a comma or a line "
            "end in quotes, or correct the line");
        CHECK(TextFile("a,b\r\n1,2,3\r\n").complaint({"a"}).find("texts.csv:2: the record has 3 fields, but") == 0);
        CHECK(TextFile("a,b\n1,2\n3,\"4\n5,6\n").complaint({"a"}) ==
              "texts.csv:3: the quote that a field begins with here never closes; close it, and write a quote that "
              "belongs to a quoted text twice");
        CHECK(TextFile("a,b\n\n").complaint({"a"}) ==
              "texts.csv: it names its columns, but holds no record; give a file with records");
        CHECK(TextFile("").complaint({"a"}) ==
              "texts.csv: it is empty; give a file whose first line names the columns");
        const auto missing = readColumns("/nowhere/texts.csv", {"a"});
        REQUIRE(!missing);
        CHECK(missing.error().message() ==
              "can't open /nowhere/texts.csv: No such file or directory; give a CSV or TSV "
              "file that is there and can be read");
        CHECK(missing.error().kind == ErrorKind::BadArgument);
    }

    TEST_CASE("more columns than any data set has are refused, and of many a few are named") {
        const auto header = [](std::size_t columns) { return std::string(columns - 1, ',') + "\n"; };
        const std::string beyond = TextFile(header(100'001)).complaint({"text"});
        CHECK(beyond ==
              "texts.csv: its first line names more than 100000 columns; give a file with fewer, or one whose "
              "first line ends where its columns do");
        const std::string many = TextFile("a,b," + header(99'998)).complaint({"text"});
        CHECK(many.find("texts.csv: no column is named 'text'; it has 'a', 'b', ''") == 0);
        CHECK(many.ends_with(", '' and 99980 more"));
        CHECK(many.size() < 1000);
        CHECK(TextFile("text," + header(99'999) + "good," + header(99'999)).read({"text"}) == Columns{{"good"}});
    }

    TEST_CASE("a file of more bytes or records than any set of texts has is refused before it takes memory") {
        const TextFile file("text,label\ngood,1\n");
        std::filesystem::resize_file(file.path(), mostDelimitedBytes + 1); // a hole
        CHECK(file.complaint({"text"}) ==
              "texts.csv: it has 2147483649 bytes, and at most 2147483648 are read; give a file with fewer records");
        std::string many = "a\n";
        for (std::size_t record = 0; record < mostRecords; ++record)
            many += "1\n";
        const auto most = columnsOf(many, "texts.csv", {"a"});
        REQUIRE(most);
        CHECK(most->records() == mostRecords);
        const auto beyond = columnsOf(many + "1\n", "texts.csv", {"a"});
        REQUIRE_FALSE(beyond);
        CHECK(beyond.error().kind == ErrorKind::BadArgument);
        CHECK(beyond.error().message() == "texts.csv: it holds more than 20000000 records; give a file with fewer");
    }

    TEST_CASE("short fields take no more memory than their places in the file") {
        constexpr std::size_t records = 1'000'000;
        std::string bytes = "text,label\n";
        for (std::size_t record = 0; record < records; ++record)
            bytes += record % 2 == 0 ? "a,0\n" : "\"b\"\"\",1\n";
        const std::size_t before = bytesHeld();
        const auto columns = columnsOf(bytes, "texts.csv", {"text", "label"});
        REQUIRE(columns);
        CHECK(bytesHeld() <= before + records * 2 * 10); // four bytes each, and room to grow
        CHECK(columns->field(0, records - 1) == "b\"");
        CHECK(columns->field(1, records - 2) == "0");
    }

    TEST_CASE("whatever the fields hold, they are those that Python's csv reads") {
        const std::string python = pythonWith("torch"); // peer.py imports it
        if (python.empty()) {
            MESSAGE("skipped: no Python that imports torch");
            return;
        }
        const TempFolder folder;
        std::mt19937 random(4180);
        std::string ours, paths;
        int records = 0;
        for (int file = 0; file < 200; ++file) {
            const std::string path = folder / (std::to_string(file) + ".csv");
            writeFile(path, nastyText(random));
            paths += path + "\n";
            const auto columns = readColumns(path, {"x", "y", "z"});
            REQUIRE(columns);
            for (std::size_t record = 0; record < columns->front().size(); ++record, ++records)
                ours += hexOf((*columns)[0][record]) + " " + hexOf((*columns)[1][record]) + " " +
                        hexOf((*columns)[2][record]) + "\n";
        }
        CHECK(records == 200 * 40);
        writeFile(folder / "paths", paths);
        const Ended ended =
            Process(python, {LOCKSTEP_SOURCE_DIR "/tests/trainer/peer.py", "csv", folder / "paths"}).wait();
        CAPTURE(ended.err);
        REQUIRE(ended.code == 0);
        CHECK(ended.out == ours);
    }
}
