// SPDX-License-Identifier: MIT
#pragma once
#include "nodes/doctor_checks.h"

namespace lockstep::core {

using Findings = std::vector<Finding>;

void checkNodes(const DoctorSnapshot &snapshot,
                Findings &out); ///< each node alone: reachability, disk, limits, clock, GPUs
void checkVersions(const DoctorSnapshot &snapshot, Findings &out); ///< differences between nodes
void checkLines(const DoctorSnapshot &snapshot,
                Findings &out); ///< which PyTorch all nodes can use, and which nodes use another
void checkNetwork(const DoctorSnapshot &snapshot, Findings &out); ///< interfaces, ports, links, MTU
void checkNames(const DoctorSnapshot &snapshot, Findings &out);
void checkData(const DoctorSnapshot &snapshot, Findings &out);

inline void say(Findings &out, std::string code, Finding::Severity severity, std::string where, std::string what,
                std::string fix) {
    out.push_back({std::move(code), severity, std::move(what), std::move(where), std::move(fix)});
}

} // namespace lockstep::core
