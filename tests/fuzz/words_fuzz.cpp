// SPDX-License-Identifier: MIT
// What people type and other programs print: filters, tags, places, commands, a script's --help, squeue's lines.
#include "analysis/history/run_filter.h"
#include "experiment/script_help.h"
#include "ipc/command_template.h"
#include "ipc/cores.h"
#include "ipc/placement.h"
#include "ipc/printable.h"
#include "nodes/torch_line.h"
#include "nodes/torchrun_lines.h"
#include "queue/slurm/slurm_queue.h"
#include "store/run_notes.h"
#include "tests/fuzz/target.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::string_view bytes = textOf(data, size);
    const QString typed = QString::fromUtf8(bytes.data(), qsizetype(bytes.size()));
    if (const auto filter = RunFilter::parse(typed))
        static_cast<void>(filter->accepts(IndexedRun{}));
    else
        require(filter.error().at >= 0 && filter.error().at + filter.error().length <= typed.size());
    static_cast<void>(flagsFromHelp(bytes));
    std::vector<SlurmJob> jobs = jobsFromSqueue(bytes).jobs;
    numberPlaces(jobs, bytes);
    for (const SlurmJob &job : jobs)
        static_cast<void>(jobsOf(jobs, job.array));
    static_cast<void>(reasonInWords(bytes));
    static_cast<void>(capabilityFromText(bytes));
    static_cast<void>(readTorchrun(bytes));
    static_cast<void>(checkPlaceholders({std::string(bytes)}));
    static_cast<void>(pythonModules(bytes));
    static_cast<void>(parseCores(bytes));
    static_cast<void>(parseStageLayers(bytes));
    require(printableName(bytes).size() <= 3 * 80);
    if (const auto tags = tagsFrom(bytes))
        require(tagsFrom(joinedTags(*tags)) == *tags);
    if (const auto nodes = nodesFromText(bytes)) {
        const auto again = nodesFromText(toText(*nodes));
        require(again && toText(*again) == toText(*nodes));
    }
    return 0;
}
