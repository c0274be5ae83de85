// SPDX-License-Identifier: MIT
#include "trainer/report/memory_shortage.h"

#include <doctest/doctest.h>

#include "tests/trainer/peers.h"

using namespace lockstep;
using namespace lockstep::trainer;
using namespace lockstep::trainer::test;

TEST_SUITE("memory_shortage") {
    TEST_CASE("a shortage is told from other errors, with what was asked for and what is free") {
        const std::string free = "8 GB of the machine's memory are free";
        CHECK(memoryShortage(
                  "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you "
                  "tried to allocate 166133760 bytes. Error code 12 (Cannot allocate memory)",
                  free) == "166 MB were asked for, 8 GB of the machine's memory are free");
        CHECK(memoryShortage(
                  "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which "
                  "1.12 GiB is free. Process 4711 has 77.9 GiB memory in use. Of the allocated memory 70 GiB …",
                  free) == "2.00 GiB were asked for, 1.12 GiB of 79.10 GiB are free");
        CHECK(memoryShortage("std::bad_alloc", free) ==
              "the machine gave no more, 8 GB of the machine's memory are free");
        CHECK(memoryShortage("std::bad_alloc", "") == "the machine gave no more");
        CHECK(memoryShortage("CUDA error: out of memory\nCUDA kernel errors might be …", free) ==
              "the GPU gave no more");
        CHECK(memoryShortage("Connection closed by peer [127.0.0.1]:42", free).empty());
    }

    TEST_CASE("a rank that runs out of memory names its device, the sizes and the checkpoint to go on from") {
#ifdef __SANITIZE_ADDRESS__
        MESSAGE("skipped: AddressSanitizer needs more address space than the limit leaves");
        return;
#endif
        const SmallData data(960);
        const TempFolder folder;
        const std::vector<std::string> options{data.option(),
                                               "--model=convnet",
                                               "--batch-size=960",
                                               "--train-samples=960",
                                               "--test-samples=10",
                                               "--checkpoint-dir=" + (folder / "c"),
                                               "--frames=" + (folder / "f")};
        REQUIRE(Process(trainerBinary(), withSmallRun(options)).wait().code == 0);
        auto more = options;
        more.insert(more.end(), {"--epochs=2", "--resume"});
        std::vector<std::string> words{"-c", "ulimit -v 700000; exec \"$0\" \"$@\"", trainerBinary()};
        const auto arguments = withSmallRun(more);
        words.insert(words.end(), arguments.begin(), arguments.end());
        const Ended ended = Process("/bin/sh", words).wait();
        CAPTURE(ended.err);
        CHECK(ended.code == 1);
        CHECK(ended.err.find("rank 0 ran out of memory on cpu:0: ") != std::string::npos);
        CHECK(ended.err.find(" were asked for, ") != std::string::npos);
        CHECK(ended.err.find("this process may have 717 MB in all (ulimit -v)") != std::string::npos);
        CHECK(ended.err.find("the newest checkpoint is " + (folder / "c")) != std::string::npos);
        CHECK(ended.err.find("--accumulate 2") != std::string::npos);
        const auto alerts = bodiesOf<AlertFrame>(readFrames(folder / "f"), 0);
        REQUIRE(alerts.size() == 1);
        CHECK(alerts[0].kind == "out_of_memory");
    }
}
