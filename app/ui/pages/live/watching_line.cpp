// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/watching_line.h"

#include "analysis/causes/watching.h"
#include "app/ui/pages/live/shown_runs.h"
#include "store/run_store.h"

namespace lockstep::ui {
namespace {

constexpr qint64 watchingEveryMs = 2000; ///< a label that changes is laid out and painted anew

QString watchingSentence(const ShownRuns &shown) {
    QString sentence;
    for (const RunStyle &style : shown.styles()) {
        const core::RunStore &run = shown.storeOf(style);
        const core::RunLifecycle &life = run.lifecycle();
        if (run.over() || life.unknown() || life.link() == core::LinkState::Lost) // its current cost is unknown then
            continue;
        sentence = core::watchingNowText(run.devices().viewersShare(),
                                         run.record() ? run.record()->freeCores : std::optional<int>());
    }
    return sentence;
}

} // namespace

WatchingLine::WatchingLine(QWidget *parent) : WrappedLabel("small", parent) {
    setTextInteractionFlags(Qt::TextSelectableByMouse);
    hide();
}

void WatchingLine::refresh(const ShownRuns &shown) {
    const QString sentence = watchingSentence(shown);
    if (!sentence.isEmpty() && m_written.isValid() && m_written.elapsed() < watchingEveryMs)
        return;
    sentence.isEmpty() ? m_written.invalidate() : m_written.start();
    setWords(sentence.section(QStringLiteral("; "), 0, 0));
    setToolTip(
        (sentence.section(QStringLiteral("; "), 1) +
         tr("\nCPU time of all that follow the run on its machine, mean of ten seconds, without the display server"))
            .trimmed());
    setVisible(!sentence.isEmpty());
}

} // namespace lockstep::ui

#include "moc_watching_line.cpp"
