// SPDX-License-Identifier: MIT
#include "analysis/history/run_facts.h"

#include <algorithm>
#include <array>

namespace lockstep::core {
namespace {

constexpr std::array<std::string_view, 13> comparable = {"method",     "model",  "dataset",  "train_samples", "epochs",
                                                         "batch_size", "lr",     "momentum", "optimizer",     "seed",
                                                         "workers",    "loader", "augment"};

} // namespace

RunFacts factsOf(const RunConfig &config) {
    RunFacts facts;
    for (const FieldSpec &field : runConfigFields())
        if (!field.perProcess)
            facts.emplace(field.key, field.get(config));
    return facts;
}

RunFacts factsOf(const RunOutcome &outcome) {
    RunFacts facts;
    if (outcome.config)
        for (auto &[key, value] : factsOf(*outcome.config))
            if (outcome.claims.knows(key))
                facts.emplace(key, std::move(value));
    if (outcome.config && !outcome.claims.known)
        return facts;
    for (const auto &[key, value] : outcome.about)
        if (const FieldSpec *field = findField(key); field && !field->perProcess)
            facts.emplace(key, normalised(*field, value));
    return facts;
}

std::vector<std::string> contradictions(const RunOutcome &outcome) {
    std::vector<std::string> out;
    if (!outcome.config)
        return out;
    for (const std::string_view key : comparable) {
        const auto said = outcome.about.find(key);
        const FieldSpec *field = findField(key);
        if (said == outcome.about.end() || !field || !outcome.claims.knows(key) ||
            normalised(*field, said->second) == field->get(*outcome.config))
            continue;
        out.push_back("the script says " + said->first + " " + said->second + ", the recipe " +
                      field->get(*outcome.config));
    }
    return out;
}

} // namespace lockstep::core
