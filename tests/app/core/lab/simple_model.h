// SPDX-License-Identifier: MIT
#pragma once
// Costs of communication that are known because they were made up.
#include "lab/cost_model.h"

namespace lockstep::test {

template <class Time> core::CostModel modelOf(Time time) {
    std::vector<core::TimePoint> points;
    for (double bytes = 4; bytes <= 64.0 * 1024 * 1024; bytes *= 2)
        points.push_back({bytes, time(bytes)});
    return *core::CostModel::fit(points);
}

/// A model in which every operation costs alpha + K/rate on two ranks.
inline core::CommunicationModel simpleModel(double alpha = 50e-6, double rate = 1e9) {
    core::CommunicationModel model;
    for (const char *name : {"all_reduce", "server_all_reduce", "ring_all_reduce", "send_recv", "broadcast"})
        model.add(name, 2, modelOf([=](double bytes) { return alpha + bytes / rate; }));
    return model;
}

} // namespace lockstep::test
