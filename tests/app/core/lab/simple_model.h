// SPDX-License-Identifier: MIT
#pragma once
// Costs of communication and of computing that are known because they were made up.
#include "lab/cost_model.h"
#include "lab/forecast.h"

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

/// A batch of 64 takes 4 ms on one device, and half of it 2.4 ms on each of two.
inline core::ForecastInput simpleInput() {
    core::ForecastInput input;
    input.config.batchSize = 64;
    input.samples = 6400;
    input.parameterBytes = {100'000, 146'824};
    input.devicesHere = 2;
    input.runs = core::runsOf({{Method::Ddp}, {Method::PsSync}}, {1, 2});
    input.probes = {{1, 64, 4e-3, 2e-3, 4e-3, {}}, {2, 32, 2.4e-3, 1.2e-3, 2.4e-3, {}}};
    return input;
}

} // namespace lockstep::test
