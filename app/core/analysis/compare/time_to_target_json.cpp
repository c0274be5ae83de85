// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "analysis/compare/time_to_target.h"

namespace lockstep::core {
namespace {

using Json = nlohmann::ordered_json;

Json valueOrNull(const std::optional<double> &value) {
    return value ? Json(*value) : Json(nullptr);
}

Json speedUpJson(const SpeedUp &speedUp) {
    return {{"factor", speedUp.factor}, {"low", valueOrNull(speedUp.low)}, {"high", valueOrNull(speedUp.high)}};
}

} // namespace

std::string toJson(const Target &target, const std::vector<TimeToTarget> &groups) {
    Json out;
    out["target"] = {{"kind", target.kind == Target::Kind::Accuracy ? "test_accuracy" : "training_loss"},
                     {"value", target.value}};
    out["clock"] = "training time, without evaluation and start-up";
    out["cells"] = Json::array();
    for (const TimeToTarget &group : groups) {
        Json one = {{"run", group.group},
                    {"repeats", group.repeats.size()},
                    {"reached", group.reached},
                    {"median_s", valueOrNull(group.seconds)},
                    {"fastest_s", valueOrNull(group.fastest)},
                    {"slowest_s", valueOrNull(group.slowest)},
                    {"best", valueOrNull(group.best)},
                    {"median_wh", valueOrNull(group.wattHours)},
                    {"how", group.how}};
        one["speed_up"] = group.speedUp ? speedUpJson(*group.speedUp) : Json(nullptr);
        out["cells"].push_back(std::move(one));
    }
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace lockstep::core
