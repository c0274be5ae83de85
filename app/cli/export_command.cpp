// SPDX-License-Identifier: MIT
// export: tables, curves and event files of runs on disk.
#include <cstdio>

#include "commands.h"
#include "export/export.h"
#include "export/tensorboard_writer.h"
#include "loaded_runs.h"
#include "output.h"
#include "store/status_reader.h"

namespace lockstep::cli {
namespace {

int exportEventFiles(const ExportOptions &options) {
    if (options.out == "-")
        return complain(Error::badArgument("event files need a folder, but --out gives none",
                                           "add --out DIR, then: tensorboard --logdir DIR", "--out"));
    if (const auto writable = core::checkWritableFolder(options.out); !writable)
        return complain(writable.error());
    const auto runs = runsOf(options.ids);
    if (!runs)
        return complain(runs.error());
    core::StatusReader statuses;
    for (const std::string &run : *runs) {
        const auto files = core::exportTensorBoard(options.out, run, statuses);
        if (!files)
            return complain(files.error());
        for (const std::string &file : *files)
            print(file + "\n");
    }
    return Done;
}

Result<std::string> textOf(const ExportOptions &options, core::ExportFormat format) {
    const auto loaded = loadRuns(options.ids);
    if (!loaded)
        return fail(loaded.error());
    if (options.what == "results")
        return loaded->exported(format);
    const std::vector<core::ExportedCurve> curves = loaded->curves();
    if (const std::string lack = core::leftOutOfCurves(curves, format); !lack.empty())
        std::fprintf(stderr, "%s\n", lack.c_str());
    return core::exportCurves(curves, format);
}

} // namespace

int exportCommand(const ExportOptions &options) {
    if (options.what != "results" && options.what != "curves")
        return complain(
            Error::badArgument("\"" + options.what + "\" can't be exported", "use results or curves", "what"));
    if (options.format == "tensorboard")
        return exportEventFiles(options);
    if (options.format == "pdf" || options.format == "png" || options.format == "svg")
        return complain(Error::badArgument("lockstepctl has no charts, so it can't write " + options.format,
                                           "use: lockstep --export DIR --experiment ID --format " + options.format,
                                           "format"));
    const auto format = core::exportFormatFrom(options.format);
    if (!format)
        return complain(format.error());
    const auto text = textOf(options, *format);
    if (!text)
        return complain(text.error());
    if (options.out == "-") {
        print(*text);
        return Done;
    }
    if (const auto written = core::writeExport(options.out, *text); !written)
        return complain(written.error());
    return Done;
}

} // namespace lockstep::cli
