// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "tests/trainer/trainer_process.h"

using namespace lockstep;
using namespace lockstep::trainer::test;

TEST_SUITE("engine_torchrun") {
    TEST_CASE("torchrun starts two ranks as they are, and they train") {
        const std::string torchrun = LOCKSTEP_SOURCE_DIR "/.venv/bin/torchrun";
        if (::access(torchrun.c_str(), X_OK) != 0) {
            MESSAGE("skipped: no torchrun in .venv");
            return;
        }
        const TempFolder folder;
        std::vector<std::string> arguments{"--no-python", "--standalone", "--nproc-per-node", "2", trainerBinary()};
        const auto trainer = withSmallRun({"--method=ddp", "--summary=" + (folder / "s")});
        arguments.insert(arguments.end(), trainer.begin(), trainer.end());
        Process run(torchrun, arguments);
        const Ended ended = run.wait();
        CAPTURE(ended.err);
        CHECK(ended.code == 0);
        CHECK(readSummary(folder / "s").worldSize == 2);
        CHECK(readSummary(folder / "s").devices.size() == 2);
    }
}
