// SPDX-License-Identifier: MIT
// How runs are named: in full, short in charts, and as older versions named them.
#include "ipc/printable.h"
#include "ipc/run_title.h"
#include "tests/qt_test.h"

using namespace lockstep;

class RunTitleTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aNameSaysTheMethodAndItsDevicesInWords() {
        QCOMPARE(titleOf(specOf(Method::Baseline), 1), std::string("baseline"));
        QCOMPARE(titleOf(specOf(Method::Ddp), 1), std::string("DDP on 1 device"));
        QCOMPARE(titleOf(specOf(Method::PsSync), 4), std::string("server on 4 devices"));
        QCOMPARE(titleOn("HOROVOD", 2), std::string("HOROVOD on 2 devices"));
    }

    void aNameThatNobodyGaveIsKnownWhateverTheNumberOfDevices() {
        QVERIFY(isTitledAs("DDP on 8 devices, 4 workers", specOf(Method::Ddp)));
        QVERIFY(isTitledAs("baseline, 4 workers", specOf(Method::Baseline)));
        QVERIFY(!isTitledAs("DDP on 8 devices", specOf(Method::Dp)));
        QVERIFY(!isTitledAs("DDPs of mine", specOf(Method::Ddp)));
    }

    void aNamesDevicesCanBeSaidOnce() {
        QCOMPARE(devicesIn("DDP on 2 devices, bf16"), std::string(" on 2 devices"));
        QCOMPARE(devicesIn("DDP on 1 device"), std::string(" on 1 device"));
        QCOMPARE(devicesIn("baseline"), std::string());
    }

    void inChartsTheNumberOfDevicesStandsInBrackets() {
        for (const auto &[name, painted] : std::initializer_list<std::pair<const char *, const char *>>{
                 {"DDP on 2 devices", "DDP (2)"},
                 {"DDP on 1 device, 4 workers, bf16", "DDP (1), 4 workers, bf16"},
                 {"published DP on 8 devices on MNIST", "published DP (8) on MNIST"},
                 {"based on 2 devices on 16 devices",
                  "based (2) on 16 devices"}, // a person's own name: the first is enough
                 {"baseline", "baseline"},
                 {"trained on 2 hosts", "trained on 2 hosts"},
                 {"on 2 devices", "on 2 devices"},
                 {"", ""}})
            QCOMPARE(shortTitle(name), std::string(painted));
    }

    void filesAndJobsAreNamedAsTheyEverWere() {
        QCOMPARE(plainTitle("DDP on 2 devices, 4 workers"), std::string("DDP x2, 4 workers"));
        QCOMPARE(plainTitle("baseline"), std::string("baseline"));
    }

    void aNameOfAnOlderVersionIsReadAsItIsGivenNow() {
        for (const auto &[old, now] : std::initializer_list<std::pair<const char *, const char *>>{
                 {"DDP ×2", "DDP on 2 devices"},
                 {"DP ×1", "DP on 1 device"},
                 {"DDP ×2 gloo", "DDP on 2 devices, gloo"},
                 {"DDP ×16, 4 workers", "DDP on 16 devices, 4 workers"},
                 {"DDP ×2 #3", "DDP on 2 devices #3"},
                 {"DDP ×2 (script), 4 workers", "DDP on 2 devices (script), 4 workers"},
                 {"DDP on 2 devices", "DDP on 2 devices"},
                 {"8 × H100", "8 × H100"}, // no number of ours
                 {"images ×2x", "images ×2x"},
                 {"×2", "×2"},
                 {"DDP ×2\n\npassed: worth it", "DDP on 2 devices  passed: worth it"}, // a value takes one line
                 {"B\xE2\x80\xAE", "B\xEF\xBF\xBD"}, // the numbers after it are drawn as they are
                 {"\xD7\xA9\xD7\x9C\xE2\x80\x8F on 2 devices", "\xD7\xA9\xD7\x9C\xE2\x80\x8F on 2 devices"},
                 {"", ""}})
            QCOMPARE(presentTitle(old), std::string(now));
    }

    void anEndlessNameKeepsItsEndsAndStaysUnlikeOthers() {
        const std::string longest(longestTitle, 'x');
        QCOMPARE(presentTitle(longest), longest);
        const std::string first = "DDP on 2 devices, ", last = ", 4 workers", middle(16'000, 'x');
        const std::string one = presentTitle(first + middle + last), other = presentTitle(first + middle + "y" + last);
        for (const std::string &name : {one, other}) {
            QVERIFY(name.size() <= longestTitle && name.size() > longestTitle - 10);
            QVERIFY2(name.starts_with(first) && name.ends_with(last), name.c_str());
            QCOMPARE(presentTitle(name), name); // documents are read and written again
        }
        QVERIFY(one != other);
        std::string twoBytesEach;
        while (twoBytesEach.size() < 1000)
            twoBytesEach += "é";
        for (const std::string &text : {twoBytesEach, "x" + twoBytesEach}) {
            const QString shown = QString::fromStdString(cutInside(text, 99));
            QVERIFY2(shown.contains(u'…') && !shown.contains(QChar::ReplacementCharacter), qPrintable(shown));
            QVERIFY(shown.toUtf8().size() <= 99 && shown.toUtf8().size() > 90);
        }
        std::string former;
        while (former.size() < longestTitle)
            former += "DDP ×2 ";
        QVERIFY(presentTitle(former).size() <= longestTitle); // though words take more room than "×"
    }
};

QTEST_GUILESS_MAIN(RunTitleTest)
#include "run_title_test.moc"
