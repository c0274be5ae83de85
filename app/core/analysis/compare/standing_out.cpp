// SPDX-License-Identifier: MIT
#include "analysis/compare/standing_out.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/compare/student.h"

namespace lockstep::core {
namespace {

constexpr std::size_t fewest = 3;
/// Logarithms that differ by less than a clock's resolution are the same.
constexpr double leastScatter = 1e-9;
/// A deviation below 3 % widens no interval so much that leaving it out would be worth a reservation.
constexpr double leastApart = 0.03;

/// The mean of a group without one of its values; `without` past the end: of all.
double meanWithout(const std::vector<Repeat> &group, std::size_t without) {
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < group.size(); ++i)
        if (i != without) {
            sum += group[i].value;
            ++count;
        }
    return sum / count;
}

double squaresWithout(const std::vector<Repeat> &group, std::size_t without) {
    const double mean = meanWithout(group, without);
    double sum = 0;
    for (std::size_t i = 0; i < group.size(); ++i)
        if (i != without)
            sum += (group[i].value - mean) * (group[i].value - mean);
    return sum;
}

/// The index of the value furthest from its group's mean, and how far that is in units of a residual's spread.
std::pair<std::size_t, double> furthest(const std::vector<Repeat> &group) {
    const double mean = meanWithout(group, group.size()), count = double(group.size());
    const auto distance = [mean](const Repeat &one) { return std::fabs(one.value - mean); };
    const auto most = std::ranges::max_element(group, {}, distance);
    return {std::size_t(most - group.begin()), distance(*most) / std::sqrt(1 - 1 / count)};
}

} // namespace

std::optional<StandingOut> standingOut(const std::vector<Repeat> &first, const std::vector<Repeat> &second) {
    if (std::min(first.size(), second.size()) < fewest)
        return std::nullopt;
    const auto inFirst = furthest(first), inSecond = furthest(second);
    StandingOut out;
    out.ofFirst = inFirst.second > inSecond.second;
    const auto &[index, distance] = out.ofFirst ? inFirst : inSecond;
    const std::vector<Repeat> &group = out.ofFirst ? first : second, &other = out.ofFirst ? second : first;
    out.index = index;
    out.number = group[index].number;
    out.above = group[index].value - meanWithout(group, index);
    const double count = double(first.size() + second.size()), degrees = count - 3;
    const double spread = std::sqrt((squaresWithout(group, index) + squaresWithout(other, other.size())) / degrees);
    if (spread < leastScatter || std::fabs(out.above) < leastApart)
        return std::nullopt;
    out.chance = std::min(1.0, count * studentTails(distance / spread, degrees));
    return out.chance <= standsOutAt ? std::optional(out) : std::nullopt;
}

} // namespace lockstep::core
