// SPDX-License-Identifier: MIT
#include "base/other_load.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>

#include <QString>

#include "base/format.h"
#include "ipc/cores.h"

namespace lockstep::core {
namespace {

constexpr double noticedCores = 0.1;

double processorSeconds(int who) {
    rusage used{};
    ::getrusage(who, &used);
    const auto seconds = [](const timeval &time) { return double(time.tv_sec) + double(time.tv_usec) / 1e6; };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Processor time that programs used on these cores since boot.
std::optional<double> programSeconds(const CoreList &cores) {
    std::ifstream file("/proc/stat");
    double ticks = 0;
    std::size_t seen = 0;
    for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
        std::istringstream fields(line.substr(3));
        int core = 0;
        double user = 0, nice = 0, system = 0;
        if (line[3] == ' ' || !(fields >> core >> user >> nice >> system) ||
            std::find(cores.begin(), cores.end(), core) == cores.end())
            continue;
        ticks += user + nice + system;
        ++seen;
    }
    return seen > 0 && seen == cores.size() ? std::optional(ticks / double(::sysconf(_SC_CLK_TCK))) : std::nullopt;
}

} // namespace

OtherLoad::OtherLoad() : m_begun(reading()) {}

OtherLoad::Reading OtherLoad::reading() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return {std::chrono::duration<double>(now).count(),
            processorSeconds(RUSAGE_SELF) + processorSeconds(RUSAGE_CHILDREN), programSeconds(allowedCores())};
}

std::optional<double> OtherLoad::cores() const {
    const Reading now = reading();
    if (!now.busyS || !m_begun.busyS || !(now.atS > m_begun.atS))
        return std::nullopt;
    const double othersS = (*now.busyS - *m_begun.busyS) - (now.ownS - m_begun.ownS); // ticks are coarser than clocks
    return std::max(0.0, othersS) / (now.atS - m_begun.atS);
}

std::string otherLoadSentence(std::optional<double> cores, const std::string &what, const std::string &machine) {
    if (!cores || *cores <= noticedCores)
        return {};
    return QStringLiteral("While %1, other programs used %2 of %3: its times may be too long.")
        .arg(QString::fromStdString(what), coresText(*cores), QString::fromStdString(machine))
        .toStdString();
}

} // namespace lockstep::core
