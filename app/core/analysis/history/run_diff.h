// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <QString>

namespace lockstep::core {
class RunStore;

/// One property of both runs.
struct DiffLine {
    QString key;    ///< "lr", "forward_s": for JSON
    QString label;  ///< "Learning rate"
    QString a, b;   ///< formatted; "-" is unknown
    QString change; ///< B ÷ A, "0.58"; of shares B − A, "+0.42 points"; empty where both are meaningless
    QString help;
    std::optional<double> figureA, figureB; ///< of a measured line, in the unit its key names
    bool same = false;
    bool operator==(const DiffLine &) const = default;
};

struct DiffSection {
    QString title;
    std::vector<DiffLine> lines; ///< what differs first
    [[nodiscard]] int differing() const;
    bool operator==(const DiffSection &) const = default;
};

/// What two runs differ in: result, configuration, timing, phases, machine.
struct RunDiff {
    QString runA, runB, nameA, nameB;
    std::vector<DiffSection> sections;
    bool operator==(const RunDiff &) const = default;
};

/// The phases of a step of each, if known: lines "forward_s" and so on, means per step of the slowest rank.
[[nodiscard]] const DiffSection *phasesOf(const RunDiff &diff);

/// From the current content of both stores.
[[nodiscard]] RunDiff diffRuns(const RunStore &a, const RunStore &b);

/// Indented JSON: {"a":…,"b":…,"sections":[{"title":…,"lines":[{"key":…,"a":…,"b":…,"change":…,"same":…}]}]};
/// a and b are numbers where the line is a figure.
[[nodiscard]] std::string toJson(const RunDiff &diff);

} // namespace lockstep::core
