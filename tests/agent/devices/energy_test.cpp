// SPDX-License-Identifier: MIT
// Energy of a run, with a planted powercap folder and planted samples of GPUs.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "trainer/agent/devices/energy_meter.h"
#include "trainer/agent/devices/energy_sum.h"

using namespace lockstep;
using namespace lockstep::agent;

namespace {

/// /sys/class/powercap as the kernel lays it out.
class Powercap {
public:
    Powercap() {
        std::string folder = std::filesystem::temp_directory_path() / "lockstep-powercap-XXXXXX";
        m_path = ::mkdtemp(folder.data());
    }
    ~Powercap() { std::filesystem::remove_all(m_path); }
    Powercap(const Powercap &) = delete;
    Powercap &operator=(const Powercap &) = delete;
    void put(const std::string &domain, const std::string &name, long long range, long long energy) const {
        std::filesystem::create_directories(m_path + "/" + domain);
        write(domain, "name", name);
        write(domain, "max_energy_range_uj", std::to_string(range));
        write(domain, "energy_uj", std::to_string(energy));
    }
    void write(const std::string &domain, const std::string &file, const std::string &text) const {
        std::ofstream(m_path + "/" + domain + "/" + file) << text << "\n";
    }
    void remove(const std::string &domain, const std::string &file) const {
        std::filesystem::remove(m_path + "/" + domain + "/" + file);
    }
    [[nodiscard]] const std::string &path() const { return m_path; }

private:
    std::string m_path;
};

DeviceFrame seconds(double interval) {
    DeviceFrame frame;
    frame.intervalS = interval;
    return frame;
}

DeviceFrame gpu(const std::string &name, std::optional<double> energyJ, std::optional<double> powerW) {
    DeviceFrame frame = seconds(0.5);
    DeviceSample sample;
    sample.device = name;
    sample.kind = "cuda";
    sample.energyJ = energyJ;
    sample.powerW = powerW;
    frame.devices = {sample};
    return frame;
}

} // namespace

TEST_CASE("packages are added up, what lies inside them and the platform's own counter are not") {
    const Powercap powercap;
    powercap.put("intel-rapl:0", "package-0", 262143328850, 1'000'000);
    powercap.put("intel-rapl:1", "package-1", 262143328850, 5'000'000);
    powercap.put("intel-rapl:0:0", "core", 262143328850, 500'000);
    powercap.put("intel-rapl:2", "psys", 262143328850, 9'000'000);
    EnergyMeter meter(powercap.path());
    powercap.write("intel-rapl:0", "energy_uj", "31000000");
    powercap.write("intel-rapl:1", "energy_uj", "25000000");
    powercap.write("intel-rapl:0:0", "energy_uj", "90000000");
    powercap.write("intel-rapl:2", "energy_uj", "90000000");
    meter.take(seconds(0.5)); // too soon to read
    CHECK_FALSE(meter.total().packagesJ.has_value());
    CHECK(meter.total().packagesUnknown == "the run was shorter than a second");
    meter.take(seconds(0.5));
    CHECK(*meter.total().packagesJ == doctest::Approx(50));
    CHECK(meter.total().packagesS == doctest::Approx(1));
    CHECK(meter.total().packagesUnknown.empty());
}

TEST_CASE("packages' energy counts until the last rank has ended, not until the last whole second") {
    const Powercap powercap;
    powercap.put("intel-rapl:0", "package-0", 262143328850, 0);
    EnergyMeter meter(powercap.path());
    powercap.write("intel-rapl:0", "energy_uj", "100000000");
    meter.take(seconds(1));
    meter.take(seconds(0.5)); // too soon to read
    powercap.write("intel-rapl:0", "energy_uj", "170000000");
    meter.finish(0.2);
    CHECK(*meter.total().packagesJ == doctest::Approx(170));
    CHECK(meter.total().packagesS == doctest::Approx(1.7));

    EnergyMeter ofShortRun(powercap.path());
    powercap.write("intel-rapl:0", "energy_uj", "180000000");
    ofShortRun.finish(0.1);
    CHECK(*ofShortRun.total().packagesJ == doctest::Approx(10));
}

TEST_CASE("a counter that wraps around goes on from its range") {
    const Powercap powercap;
    powercap.put("intel-rapl:0", "package-0", 100'000'000, 90'000'000);
    EnergyMeter meter(powercap.path());
    powercap.write("intel-rapl:0", "energy_uj", "20000000");
    meter.take(seconds(1));
    CHECK(*meter.total().packagesJ == doctest::Approx(30));
    powercap.write("intel-rapl:0", "energy_uj", "25000000");
    meter.take(seconds(1));
    CHECK(*meter.total().packagesJ == doctest::Approx(35));
}

TEST_CASE("energy that can't be read is unknown, with its reason, and never a part of the sum") {
    const Powercap powercap;
    CHECK(EnergyMeter(powercap.path()).total().packagesUnknown ==
          "the kernel shows no energy of the processor (RAPL), as in most virtual machines");
    CHECK_FALSE(EnergyMeter(powercap.path() + "/none").total().packagesJ.has_value());
    powercap.put("intel-rapl:0", "package-0", 100'000'000, 0);
    powercap.put("intel-rapl:1", "package-1", 100'000'000, 0);
    powercap.remove("intel-rapl:1", "energy_uj"); // as unreadable as one that only root may read
    EnergyMeter meter(powercap.path());
    powercap.write("intel-rapl:0", "energy_uj", "1000000");
    meter.take(seconds(2));
    CHECK_FALSE(meter.total().packagesJ.has_value());
    CHECK(meter.total().packagesUnknown ==
          "this user may not read the processor's energy (" + powercap.path() + "/intel-rapl:1/energy_uj)");
}

TEST_CASE("a GPU's energy is its counter's difference, else power times time, else unknown") {
    const Powercap none;
    EnergyMeter counted(none.path());
    for (const double joules : {1000.0, 1150.0, 1300.0})
        counted.take(gpu("GPU-a", joules, 250));
    CHECK(*counted.total().gpusJ == doctest::Approx(300));
    CHECK(counted.total().gpusFrom == "NVML's energy counter");

    EnergyMeter integrated(none.path());
    for (int i = 0; i < 4; ++i)
        integrated.take(gpu("GPU-a", {}, 200));
    CHECK(*integrated.total().gpusJ == doctest::Approx(400)); // 200 W for 2 s
    CHECK(integrated.total().gpusFrom == "power × time");

    EnergyMeter unknown(none.path());
    unknown.take(gpu("GPU-a", 5, {}));
    unknown.take(gpu("GPU-a", 7, {}));
    unknown.take(gpu("GPU-b", {}, {}));
    CHECK_FALSE(unknown.total().gpusJ.has_value());
    CHECK(unknown.total().gpusUnknown == "NVML reports neither energy nor power of GPU-b");
    CHECK(EnergyMeter(none.path()).total().gpusUnknown == "no GPU of the run was sampled");
}

TEST_CASE("the energy of several nodes is their sum, and unknown where one node's is") {
    Energy first, second;
    first.gpusJ = 3000;
    first.gpusS = 10; // 300 W
    first.gpusFrom = "NVML's energy counter";
    first.packagesJ = 500;
    first.packagesS = 10;
    first.packagesOf = "boot a";
    second = first;
    second.gpusJ = 1000;
    second.gpusS = 20; // 50 W
    second.packagesOf = "boot b";
    const Energy both = energyOfAll({{"hostA", first}, {"hostB", second}});
    CHECK(both.nodes == 2);
    CHECK(*both.gpusJ == doctest::Approx(4000));
    CHECK(*both.gpusJ / both.gpusS == doctest::Approx(350));
    CHECK(both.gpusFrom == "NVML's energy counter");
    CHECK(*both.packagesJ == doctest::Approx(1000));
    CHECK(*both.packagesJ / both.packagesS == doctest::Approx(100));

    second.packagesOf = first.packagesOf; // two nodes on one machine
    second.packagesJ = 600;
    second.packagesS = 12;
    CHECK(*energyOfAll({{"hostA", first}, {"hostB", second}}).packagesJ == doctest::Approx(600));

    second.gpusJ.reset();
    second.gpusUnknown = "NVML reports neither energy nor power of GPU-b";
    const Energy partly = energyOfAll({{"hostA", first}, {"hostB", second}});
    CHECK_FALSE(partly.gpusJ.has_value());
    CHECK(partly.gpusUnknown == "on hostB: NVML reports neither energy nor power of GPU-b");
    CHECK(partly.packagesJ.has_value());
    CHECK(energyOfAll({{"hostA", first}, {"hostB", {}}}).packagesUnknown == "on hostB: its agent did not report any");

    first.packagesJ.reset();
    first.packagesUnknown = second.packagesUnknown = "the kernel shows no energy of the processor (RAPL)";
    second.packagesJ.reset();
    CHECK(energyOfAll({{"hostA", first}, {"hostB", second}}).packagesUnknown == first.packagesUnknown);
}
