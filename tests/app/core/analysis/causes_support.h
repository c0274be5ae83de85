// SPDX-License-Identifier: MIT
#pragma once
// What the tests of planted causes share: runs through lockstepctl, agents, logs and stores, and what was found in them.

#include "analysis/causes/attribution.h"
#include "core_queue_support.h"
#include "store/load_run.h"
#include "store/run_outcome.h"
#include "store/run_store.h"
#include "tests/qt_test.h"

namespace lockstep::test {

/// Repeats of one run as a group; empty when they failed, with the reason as a warning.
inline core::RepeatGroup measured(const QString &name, const QString &keys, int repeats = 3, int sideBySide = 1) {
    const QByteArray recipe = QStringLiteral("{\"name\":\"planted\",\"base\":{\"batch_size\":64},\"repeats\":%3,"
                                             "\"runs\":[{\"name\":\"%1\",%2}]}")
                                  .arg(name, keys)
                                  .arg(repeats)
                                  .toUtf8();
    const Answer answer = ctl({QStringLiteral("run"), QStringLiteral("-"), QStringLiteral("--json"),
                               QStringLiteral("--side-by-side"), QString::number(sideBySide)},
                              100'000, recipe);
    core::RepeatGroup out{name.toStdString(), {}, false};
    const qsizetype begin = answer.out.indexOf("{\n"); // the result, after the progress lines
    const auto json = nlohmann::json::parse(answer.out.mid(begin).toStdString(), nullptr, false);
    if (answer.code != 0 || !json.is_object()) {
        qWarning("%s%s", answer.out.constData(), answer.err.constData());
        return out;
    }
    for (const core::ExperimentEntry &entry : read(json["experiment"]).entries) {
        core::RunStore store(QString::fromStdString(entry.run));
        if (core::loadRun(store, runFolder(entry.run)))
            out.runs.push_back(core::outcomeOf(store));
    }
    return out;
}

inline QString textOf(const core::Attribution &attribution) {
    QString out;
    for (const core::AttributionBar &bar : attribution.bars)
        out +=
            QStringLiteral("%1 %2 s; ").arg(QString::fromStdString(std::string(toString(bar.cause)))).arg(bar.seconds);
    return out;
}

inline core::Cause largest(const core::Attribution &attribution) {
    const auto most = std::ranges::max_element(attribution.bars, {}, [](const core::AttributionBar &bar) {
        return bar.cause == core::Cause::StartUp ? -1 : std::fabs(bar.seconds);
    });
    return most->cause;
}

} // namespace lockstep::test
