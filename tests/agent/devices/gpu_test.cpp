// SPDX-License-Identifier: MIT
// GPUs as NVML reports them: here by a library of known figures, loaded the way the real one is.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "ipc/file_system.h"
#include "tests/agent/agent_process.h"
#include "tests/figure.h"

using namespace lockstep;
using namespace std::chrono_literals;

namespace {
Child::Environment withGpus(Child::Environment more) {
    more["LD_LIBRARY_PATH"] = FAKE_NVML_FOLDER;
    return more;
}
} // namespace

TEST_CASE("the machine record lists the GPUs this process may use") {
    const TestHome home;
    Child all({agentBinary(), "machine"}, withGpus({}));
    const std::string record = all.readAll();
    CHECK(record.find("\"gpu_driver\":\"999.1\"") != std::string::npos);
    CHECK(record.find("GPU-00000000-fake") != std::string::npos);
    CHECK(record.find("GPU-00000001-fake") != std::string::npos);
    Child one({agentBinary(), "machine"}, withGpus({{"CUDA_VISIBLE_DEVICES", "1"}}));
    const std::string limited = one.readAll();
    CHECK(limited.find("GPU-00000000-fake") == std::string::npos);
    CHECK(limited.find("GPU-00000001-fake") != std::string::npos);
}

TEST_CASE("device frames carry a GPU's figures by its UUID, and epochs their means") {
    const TestHome home;
    Child child({agentBinary(), "run", "--", fakeRank()}, withGpus({{"FAKE_RANK", "epochs=2;steps=50"}}));
    CHECK(child.wait() == 0);
    const RunFolder folder = runFolder(home.runs().at(0));
    const auto frames = framesOf(folder);
    const auto samples = bodiesOf<DeviceFrame>(frames);
    const auto full = std::find_if(samples.begin(), samples.end(),
                                   [](const DeviceFrame &frame) { return frame.devices.size() == 2; });
    REQUIRE(full != samples.end());
    const DeviceSample &gpu = full->devices[0];
    CHECK(gpu.device == "GPU-00000000-fake");
    CHECK(gpu.kind == "cuda");
    CHECK(gpu.name == "Fake 9000");
    CHECK(gpu.utilization == doctest::Approx(0.75));
    CHECK(gpu.memoryUsedBytes == 3000);
    CHECK(gpu.memoryTotalBytes == 8000);
    CHECK(*gpu.energyJ >= 7025);
    CHECK(gpu.powerW == doctest::Approx(123.456));
    CHECK(gpu.temperatureC == 61);
    CHECK(gpu.clockMhz == 1410);
    CHECK(gpu.throttle == std::vector<std::string>{"software thermal slowdown"});
    CHECK_FALSE(gpu.smActivity); // this library has no GPM
    for (const EpochFrame &epoch : bodiesOf<EpochFrame>(frames)) {
        REQUIRE(epoch.devices.size() == 2);
        CHECK(epoch.devices[1].utilizationMean == doctest::Approx(0.25));
    }
    const auto text = realFileSystem().readAll(folder.result());
    REQUIRE(text.has_value());
    const auto result = runResultFromJson(*text);
    REQUIRE(result.has_value());
    REQUIRE(result->energy.has_value());
    CHECK(result->energy->gpusFrom == "NVML's energy counter");
    CHECK(*result->energy->gpusJ > 0);
    CHECK(result->energy->packagesJ.has_value() == result->energy->packagesUnknown.empty());
}

TEST_CASE("a GPU that is lost is an alert that names it, once") {
    const TestHome home;
    Child child({agentBinary(), "run", "--", fakeRank()},
                withGpus({{"FAKE_RANK", "epochs=1;steps=100"}, {"FAKE_NVML_LOST", "1"}}));
    CHECK(child.wait() == 0);
    std::vector<std::string> said;
    for (const AlertFrame &alert : bodiesOf<AlertFrame>(framesOf(runFolder(home.runs().at(0)))))
        if (alert.kind == "gpu_lost")
            said.push_back(alert.message);
    REQUIRE(said.size() == 1);
    CHECK_MESSAGE(said[0].starts_with("GPU GPU-00000001-fake"), said[0]);
    CHECK_MESSAGE(said[0].find(" is lost: ") != std::string::npos, said[0]);
}

TEST_CASE("a slow NVML delays no rank, no heartbeat and no end") {
    const TestHome home;
    const auto start = std::chrono::steady_clock::now();
    Child child({agentBinary(), "run", "--", fakeRank()},
                withGpus({{"FAKE_RANK", "epochs=1;steps=150"}, {"FAKE_NVML_SLOW", "1"}}));
    CHECK(child.wait() == 0);
    lockstep::test::printFigure("a run of 150 steps whose NVML is slow", start, 4);
    const auto frames = framesOf(runFolder(home.runs().at(0)));
    CHECK(bodiesOf<HeartbeatFrame>(frames).size() >= 1);
    CHECK(bodiesOf<DeviceFrame>(frames).size() >= 5);
}

TEST_CASE("devices says how each stands and who uses it") {
    const TestHome home;
    Child devices({agentBinary(), "devices"}, withGpus({}));
    const std::string line = devices.readAll();
    CHECK(devices.wait() == 0);
    CHECK(line.find("\"device\":\"cpu:0\"") != std::string::npos);
    const auto first = line.find("GPU-00000000-fake"), second = line.find("GPU-00000001-fake");
    REQUIRE((first != std::string::npos && second != std::string::npos));
    const std::string gpu = line.substr(first, second - first), other = line.substr(second);
    CHECK(gpu.find("\"memory_used_bytes\":3000.0,\"busy\":0.75") != std::string::npos);
    CHECK(gpu.find("\"name\":\"lockstep-agent\",\"share\":null,\"memory_bytes\":2500.0") != std::string::npos);
    CHECK(other.find("\"users\":[]") != std::string::npos);
}

TEST_CASE("a program that spins on a CPU device is named as its user") {
    const TestHome home;
    // The kernel keeps 15 letters of it.
    const std::string name = "a-shell-with-a-long-name-" + std::string(longestReportedName, 'x');
    const std::string kept = name.substr(0, longestReportedName);
    std::filesystem::copy_file("/bin/sh", home.path() + "/" + name);
    Child spinner({"/usr/bin/taskset", "-c", "0", home.path() + "/" + name, "-c", "while :; do :; done"});
    bool named = false;
    for (int i = 0; i < 5 && !named; ++i) {
        Child devices({agentBinary(), "devices"});
        const std::string line = devices.readAll();
        const std::string cpu0 = line.substr(0, line.find("\"cpu:1\""));
        named =
            cpu0.find("\"pid\":" + std::to_string(spinner.pid()) + ",\"name\":\"" + kept + "\"") != std::string::npos;
    }
    CHECK(named);
}
