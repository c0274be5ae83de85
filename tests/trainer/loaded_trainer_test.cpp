// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "tests/trainer/trainer_process.h"

using namespace lockstep;
using namespace lockstep::trainer::test;

namespace {

/// What the kernel knows as the process's command: a started process that exec() did not load has that of its parent.
std::string command(const Process &process) {
    return readFile("/proc/" + std::to_string(process.pid()) + "/cmdline");
}

const std::string loadedOnce = trainerBinary() + '\0';

} // namespace

TEST_SUITE("loaded_trainer") {
    TEST_CASE("a process that is started from a loaded trainer has its own arguments, environment and end") {
        const TempFolder folder;
        Process facts(trainerBinary(), {"--facts"});
        Process refused(trainerBinary(), {"--epochs=none"});
        Process run(trainerBinary(), withSmallRun({}), {{"LOCKSTEP_FRAMES", folder / "frames"}});
#ifdef LOCKSTEP_LOADED_TRAINER
        CHECK(command(run) == loadedOnce);
#endif
        CHECK(facts.wait().out.find("\"torch\"") != std::string::npos);
        const Ended bad = refused.wait();
        CHECK(bad.code == 2);
        CHECK(bad.out.empty());
        CHECK(bad.err.starts_with("lockstep-trainer: --epochs: \"none\""));
        CHECK(run.wait().code == 0);
        CHECK(std::filesystem::file_size(folder / "frames") > 0);
    }

    TEST_CASE("with a setting that a library reads while it is loaded, a trainer is loaded for itself") {
        Process run(trainerBinary(), withSmallRun({}), {{"OMP_NUM_THREADS", "1"}});
        CHECK(command(run) != loadedOnce);
        CHECK(run.wait().code == 0);
    }
}
