// SPDX-License-Identifier: MIT
// From a run's frames to what people read: the store, the result table, the verdict and every export.
#include <QCoreApplication>

#include "analysis/compare/judgement.h"
#include "analysis/compare/result_table.h"
#include "export/export.h"
#include "ipc/frames.h"
#include "store/run_outcome.h"
#include "store/run_progress.h"
#include "store/run_store.h"
#include "tests/fuzz/target.h"

using namespace lockstep;
using namespace lockstep::core;
using namespace lockstep::fuzz;

namespace {

/// A run of these frames, and one more of the first half of them: a verdict compares two.
std::unique_ptr<RunStore> storeOf(std::string_view lines, const char *id, Method method) {
    auto store = std::make_unique<RunStore>(QString::fromLatin1(id));
    RunRecord record;
    record.run = id;
    record.name = std::string(specOf(method).name);
    record.config.emplace().method = method;
    store->setRecord(record);
    Decoder decoder;
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        if (const auto frame = decoder.decode(lines.substr(0, end)))
            store->take(*frame);
        else
            store->refuse(frame.error());
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    return store;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static int count = 0;
    static QCoreApplication application(count, nullptr); // the store has a timer
    const std::string_view bytes = textOf(data, size);
    const auto whole = storeOf(bytes, "20260101T000000Z-00000001", Method::Baseline),
               half = storeOf(bytes.substr(0, size / 2), "20260101T000000Z-00000002", Method::Ddp);
    std::vector<RunOutcome> outcomes;
    std::vector<ExportedCurve> curves;
    for (const RunStore *store : {whole.get(), half.get()}) {
        static_cast<void>(progressOf(*store));
        outcomes.push_back(outcomeOf(*store));
        curves.push_back(exportedCurve(*store));
    }
    const Report report = reportOf(resultTable(outcomes), outcomes, {}, curves);
    for (const ExportFormatSpec &format : resultFormats()) {
        require(!format.write(report).empty());
        if (format.carriesCurves)
            require(exportCurves(report.curves, format.format).has_value());
    }
    return 0;
}
