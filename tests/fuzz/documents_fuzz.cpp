// SPDX-License-Identifier: MIT
// Every small document: what Lockstep writes into files and reads from there, from queues and from nodes.
#include "base/json_lines.h"
#include "data/dataset_source.h"
#include "experiment/experiment.h"
#include "experiment/recipe.h"
#include "ipc/model_facts.h"
#include "ipc/run_folder.h"
#include "lab/forecast_record.h"
#include "lab/lab_record.h"
#include "launch/device_probe.h"
#include "nodes/node_book.h"
#include "nodes/node_facts.h"
#include "queue/queue_origin.h"
#include "queue/queue_request.h"
#include "queue/slurm/slurm_experiment.h"
#include "tests/fuzz/target.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::fuzz;

namespace {

template <class Read> void requireNoCrash(std::string_view bytes, const Read &read) {
    if (const auto taken = read(bytes); !taken)
        requireOneSentence(taken.error());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::string_view bytes = textOf(data, size);
    const auto write = [](const auto &document) { return toJson(document); };
    requireStable(bytes, runConfigFromJson, write);
    requireStable(bytes, runRecordFromJson, write);
    requireStable(bytes, runResultFromJson, write);
    requireStable(bytes, summaryFromJson, write);
    requireStable(bytes, launchRequestFromJson, write);
    requireStable(
        bytes, [](std::string_view text) { return recipeFromJson(text); }, write);
    requireStable(bytes, experimentFromJson, write);
    requireStable(
        bytes, [](std::string_view text) { return snapshotFromJson(text, {}); }, write);
    requireStable(bytes, nodesFromJson, write);
    requireStable(bytes, labRecordFromJson, write);
    requireStable(bytes, forecastRecordFromJson, write);
    requireStable(bytes, slurmRecordFromJson, write);
    if (const auto request = queueRequestFromJson(bytes))
        require(queueRequestFromJson(toJson(*request)).has_value());
    requireNoCrash(bytes, nodeFactsFromJson);
    requireNoCrash(bytes, seenDevicesFromJson);
    requireNoCrash(bytes, datasetsFromJson);
    requireNoCrash(bytes, parseJsonLines);
    requireNoCrash(bytes, [](std::string_view text) { return modelFactsFromJson(text, "a model", "model.json"); });
    return 0;
}
