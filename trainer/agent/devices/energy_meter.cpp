// SPDX-License-Identifier: MIT
#include "trainer/agent/devices/energy_meter.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "ipc/process_stat.h"
#include "trainer/agent/devices/proc_files.h"

namespace lockstep::agent {

namespace {

/// A package has one colon in its name ("intel-rapl:0"); what lies inside it has two.
bool isPackageFolder(const std::string &name) {
    return name.starts_with("intel-rapl:") && std::count(name.begin(), name.end(), ':') == 1;
}

std::optional<std::uint64_t> numberIn(const std::string &path) {
    const std::string text = readSmallFile(path);
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    return parsed.ec == std::errc() ? std::optional(number) : std::nullopt;
}

} // namespace

std::string EnergyMeter::powercapFolder() {
    const char *planted = std::getenv("LOCKSTEP_TEST_POWERCAP");
    return planted ? planted : "/sys/class/powercap";
}

EnergyMeter::EnergyMeter(std::string powercap) {
    findPackages(powercap);
    m_packagesOf = bootId() + " " + powercap;
}

void EnergyMeter::findPackages(const std::string &powercap) {
    bool found = false;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(powercap, error)) {
        if (!isPackageFolder(entry.path().filename()))
            continue;
        const std::string folder = entry.path();
        if (!readSmallFile(folder + "/name").starts_with("package"))
            continue; // psys: the whole platform, packages included
        found = true;
        const auto range = numberIn(folder + "/max_energy_range_uj"), now = numberIn(folder + "/energy_uj");
        if (!range || !now) { // a sum with an unknown part would be too small
            m_packagesUnknown = "this user may not read the processor's energy (" + folder + "/energy_uj)";
            m_packages.clear();
            return;
        }
        m_packages.push_back({folder, *range, *now});
    }
    if (!found)
        m_packagesUnknown = "the kernel shows no energy of the processor (RAPL), as in most virtual machines";
}

void EnergyMeter::take(const DeviceFrame &sample) {
    for (const DeviceSample &device : sample.devices)
        if (device.kind == "cuda")
            addGpu(device, sample.intervalS);
    m_gpusS += sample.intervalS;
    m_sinceReadS += sample.intervalS;
    if (m_sinceReadS >= meterEveryS && m_packagesUnknown.empty())
        readPackages();
}

void EnergyMeter::finish(double sinceTakeS) {
    m_sinceReadS += sinceTakeS;
    if (m_packagesUnknown.empty() && m_sinceReadS > 0)
        readPackages();
}

void EnergyMeter::readPackages() {
    for (Package &package : m_packages) {
        const auto now = numberIn(package.folder + "/energy_uj");
        if (!now) {
            m_packagesUnknown = "the processor's energy could no longer be read";
            return;
        }
        // Once a second, and a range lasts a minute and more: at most one wrap lies between two readings.
        const std::uint64_t used = *now >= package.before           ? *now - package.before
                                   : package.range > package.before ? package.range - package.before + *now
                                                                    : *now;
        m_packagesJ += static_cast<double>(used) * 1e-6;
        package.before = *now;
    }
    m_packagesS += m_sinceReadS;
    m_sinceReadS = 0;
}

void EnergyMeter::addGpu(const DeviceSample &device, double seconds) {
    Gpu &gpu = m_gpus[device.device];
    if (device.energyJ) {
        if (!gpu.first || *device.energyJ < gpu.last.value_or(0)) // the driver was loaded anew
            gpu.first = device.energyJ;
        gpu.last = device.energyJ;
    }
    if (device.powerW) {
        gpu.integratedJ += *device.powerW * seconds;
        gpu.hasPower = true;
    }
    gpu.hasGap = gpu.hasGap || (!device.energyJ && !device.powerW);
}

Energy EnergyMeter::total() const {
    Energy out;
    out.packagesUnknown = m_packagesUnknown;
    out.packagesOf = m_packagesOf;
    if (m_packagesUnknown.empty() && m_packagesS > 0) {
        out.packagesJ = m_packagesJ;
        out.packagesS = m_packagesS;
    } else if (m_packagesUnknown.empty()) {
        out.packagesUnknown = "the run was shorter than a second";
    }
    if (m_gpus.empty()) {
        out.gpusUnknown = "no GPU of the run was sampled";
        return out;
    }
    double sum = 0;
    bool counted = true;
    for (const auto &[name, gpu] : m_gpus) {
        const bool hasCounter = gpu.first && *gpu.last > *gpu.first;
        if (!hasCounter && (!gpu.hasPower || gpu.hasGap)) {
            out.gpusUnknown = "NVML reports neither energy nor power of " + name;
            return out;
        }
        sum += hasCounter ? *gpu.last - *gpu.first : gpu.integratedJ;
        counted = counted && hasCounter;
    }
    out.gpusJ = sum;
    out.gpusS = m_gpusS;
    out.gpusFrom = counted ? "NVML's energy counter" : "power × time";
    return out;
}

} // namespace lockstep::agent
