// SPDX-License-Identifier: MIT
// The flags that a script's --help offers.
#include "experiment/script_help.h"
#include "tests/qt_test.h"

using namespace lockstep::core;

class CoreScriptHelpTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void flagsAreReadWithWhetherTheyTakeAValue() {
        const auto flags = flagsFromHelp("usage: train.py [-h] [--epochs EPOCHS] [--mode {base,DDP}]\n"
                                         "                [--amp] [--lr LR]\n"
                                         "\n"
                                         "options:\n"
                                         "  -h, --help            show this help message and exit\n"
                                         "  --epochs EPOCHS       number of passes; --amp does not matter here\n"
                                         "  -b N, --batch-size N  per process\n"
                                         "  --mode {base,DDP}     what runs\n"
                                         "  --amp                 autocast\n"
                                         "  --num_workers NUM_WORKERS\n"
                                         "                        loading workers, with --amp or without\n"
                                         "  --lr [LR]\n");
        const std::vector<ScriptFlag> wanted = {
            {"epochs", true, {}}, {"batch-size", true, {}},  {"mode", true, {"base", "DDP"}},
            {"amp", false, {}},   {"num_workers", true, {}}, {"lr", true, {}}};
        QCOMPARE(flags.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i)
            QVERIFY2(flags[i] == wanted[i], flags[i].name.c_str());
    }

    void aScriptWithoutHelpOffersNone() {
        QVERIFY(flagsFromHelp("").empty());
        QVERIFY(flagsFromHelp("Traceback (most recent call last):\n  File \"train.py\", line 3\n").empty());
        QVERIFY(flagsFromHelp("training --fast\nepoch 1 --- 0.3\n").empty());
    }
};

QTEST_GUILESS_MAIN(CoreScriptHelpTest)
#include "script_help_test.moc"
