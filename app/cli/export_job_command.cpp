// SPDX-License-Identifier: MIT
// export-job: runs as text for other launchers.
#include <algorithm>
#include <set>

#include "commands.h"
#include "export/export.h"
#include "job_commands.h"
#include "job_runs.h"
#include "launch/jobs/exported_job.h"
#include "output.h"
#include "queue/slurm/slurm_script.h"

namespace lockstep::cli {
namespace {

Result<std::string> textOf(const core::PlannedRun &run, const std::string &to, const core::JobPlace &place) {
    if (to == "torchrun")
        return core::torchrunLines(run, place);
    return to == "kubernetes" ? core::kubernetesJob(run, place) : core::pyTorchJob(run, place);
}

core::JobPlace placeOf(const ExportJobOptions &options) {
    core::JobPlace place;
    place.nodes = options.runs.nodes;
    place.masterAddress = options.masterAddress;
    place.masterPort = options.masterPort;
    place.frames = options.frames;
    place.image = options.image;
    place.nameSpace = options.nameSpace;
    place.claim = options.claim;
    place.mount = options.mount;
    place.framesSecret = options.framesSecret;
    return place;
}

/// Makes job names unique: two runs may have the same title.
std::string ownName(const std::string &title, std::set<std::string> &taken) {
    const std::string first = core::jobName("lockstep-" + title);
    std::string name = first;
    for (int i = 2; !taken.insert(name).second; ++i)
        name = first + "-" + std::to_string(i);
    return name;
}

Result<std::string> textOfAll(const std::vector<core::PlannedRun> &runs, const ExportJobOptions &options) {
    core::JobPlace place = placeOf(options);
    std::string text = options.to == "torchrun" ? "#!/bin/bash\n" : "";
    std::set<std::string> taken;
    for (const core::PlannedRun &run : runs) {
        place.name = ownName(run.name, taken);
        const auto one = textOf(run, options.to, place);
        if (!one)
            return fail(one.error());
        if (const auto fits = core::checkJobBytes(text.size() + one->size(), run.name); !fits)
            return fail(fits.error());
        if (options.to != "torchrun" && !text.empty())
            text += "---\n";
        text += *one;
    }
    return text;
}

} // namespace

int exportJobCommand(const ExportJobOptions &options) {
    const auto runs = jobRuns(options.runs);
    if (!runs)
        return complain(runs.error());
    const auto text = options.to == "slurm"
                          ? core::slurmScript(core::slurmTasks(*runs), slurmPlaceOf(options.slurm, options.runs.nodes))
                          : textOfAll(*runs, options);
    if (!text)
        return complain(text.error());
    if (options.out == "-") {
        print(*text);
        return Done;
    }
    const auto written = core::writeExport(options.out, *text);
    return written ? int(Done) : complain(written.error());
}

} // namespace lockstep::cli
