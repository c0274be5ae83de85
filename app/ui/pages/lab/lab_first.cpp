// SPDX-License-Identifier: MIT
#include "app/ui/pages/lab/lab_first.h"

#include <QLabel>
#include <QPushButton>

#include "app/ui/pages/lab/lab_places.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/progress_bar.h"

namespace lockstep::ui {

LabFirst::LabFirst(const Theme &theme, QWidget *parent)
    : EmptyState(theme, QStringLiteral("lab"), {}, {}, {}, parent), m_bar(new ProgressBar(theme, this)),
      m_progress(makeLabel({}, "secondary", this)), m_stop(new QPushButton(tr("Cancel"), this)) {
    m_bar->setFixedWidth(40 * grid);
    for (QWidget *part : std::initializer_list<QWidget *>{m_bar, m_progress, m_stop})
        addBelow(part);
}

void LabFirst::showProgress(const QString &words, bool busy, std::optional<double> fraction) {
    m_bar->setVisible(busy);
    m_bar->setFraction(fraction, methodColor(Method::Ddp));
    m_progress->setText(words);
    m_progress->setVisible(busy);
    m_stop->setVisible(fraction.has_value());
}

QString LabFirst::progressText() const {
    return m_progress->text();
}

void LabFirst::offer(const LabPlaces &places, const QString &offer, bool busy) {
    const QString why = places.whyNot();
    if (places.noNode())
        setWords(tr("No node yet"),
                 tr("Add a machine by its ssh name: the lab measures how fast its devices communicate."),
                 tr("Add nodes"));
    else if (!why.isEmpty())
        setWords(tr("Which devices?"), why, tr("Measure these nodes"));
    else if (places.overNodes())
        setWords(tr("Nothing measured between these devices yet"),
                 tr("Measures communication between them: up to a minute for each number of ranks. "
                    "Close other programs first."),
                 offer.isEmpty() ? tr("Measure these nodes") : offer);
    else
        setWords(tr("Nothing measured yet"),
                 tr("Measures communication between this machine's devices: one to two minutes. "
                    "Close other programs first."),
                 tr("Measure this machine"));
    button()->setEnabled(!busy && (places.noNode() || (why.isEmpty() && !places.asking())));
}

} // namespace lockstep::ui

#include "moc_lab_first.cpp"
