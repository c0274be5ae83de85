// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/verdict_advice.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/first_rows.h"
#include "models/roles.h"

namespace lockstep::ui {
namespace {

constexpr int levelWidth = 20 * grid, aboutWidth = 24 * grid;
constexpr qsizetype mostRunsNamed = 6, mostRunsHinted = 40; ///< runs of a row

QLabel *wrapping(const QString &text, const char *role, QWidget *parent) {
    QLabel *label = makeLabel(text, role, parent);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    return label;
}

/// "item loader, batch loader and 3 more"
QString runsNamed(const QStringList &runs) {
    const QString names = runs.mid(0, mostRunsNamed).join(QStringLiteral(", "));
    return runs.size() <= mostRunsNamed
               ? names
               : VerdictAdvice::tr("%1 and %2 more").arg(names).arg(runs.size() - mostRunsNamed);
}

} // namespace

VerdictAdvice::VerdictAdvice(const Theme &theme, core::JudgementModel &model, core::JudgementModel::Kind kind,
                             QWidget *parent)
    : QWidget(parent), m_theme(theme), m_model(model), m_kind(kind), m_layout(new QVBoxLayout(this)) {
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(grid);
    connect(&m_model, &core::JudgementModel::modelReset, this, &VerdictAdvice::rebuild);
    rebuild();
}

QWidget *VerdictAdvice::makeRow(int row) {
    const QModelIndex index = m_model.index(row);
    auto *box = new QWidget(this);
    auto *across = new QHBoxLayout(box);
    across->setContentsMargins(0, 0, 0, 0);
    across->setSpacing(2 * grid);
    QLabel *level = wrapping(index.data(core::LevelRole).toString(), "small", box);
    level->setFixedWidth(levelWidth);
    level->setToolTip(index.data(Qt::ToolTipRole).toString());
    QFont weight = level->font();
    weight.setWeight(QFont::DemiBold);
    level->setFont(weight);
    if (index.data(core::LevelRole).toString() == QLatin1String("decisive"))
        setStyleProperty(level, "role", QStringLiteral("wrong"));
    const QStringList &runs = m_model.runsOf(row);
    QLabel *about = wrapping(runsNamed(runs), "secondary", box);
    if (runs.size() > mostRunsNamed)
        about->setToolTip(runs.mid(0, mostRunsHinted).join(QLatin1Char('\n')));
    about->setFixedWidth(aboutWidth);
    across->addWidget(level, 0, Qt::AlignTop);
    across->addWidget(about, 0, Qt::AlignTop);
    auto *said = new QVBoxLayout;
    said->setSpacing(grid / 2);
    said->addWidget(wrapping(index.data().toString(), "", box));
    for (const core::SuggestedRun &run : m_model.suggestions(row)) {
        auto *line = new QHBoxLayout;
        line->setSpacing(grid);
        line->addWidget(m_buttons.add(m_kind == core::JudgementModel::Kind::Finding
                                          ? suggestionText(run)
                                          : tr("Try %1").arg(QString::fromStdString(run.name)),
                                      run, nextShortcut(), box));
        if (m_kind == core::JudgementModel::Kind::Bottleneck) { // "At most 2.00×"; why stands in the button's tooltip
            QLabel *gain = wrapping(QString::fromStdString(run.why).section(QStringLiteral(": "), 0, 0), "muted", box);
            gain->setAlignment(Qt::AlignVCenter | Qt::AlignLeft);
            line->addWidget(gain, 1);
        } else {
            line->addStretch(1);
        }
        said->addLayout(line);
    }
    across->addLayout(said, 1);
    return box;
}

QKeySequence VerdictAdvice::nextShortcut() const {
    constexpr int letters = 'Z' - 'A' + 1;
    const auto before = int(m_buttons.all().size());
    if (before >= letters)
        return {};
    const auto lead = m_kind == core::JudgementModel::Kind::Finding ? Qt::Key_Y : Qt::Key_I;
    return QKeySequence(int(Qt::CTRL) | int(lead), int(Qt::Key_A) + before);
}

void VerdictAdvice::rebuild() {
    m_buttons.clear();
    clear(*m_layout);
    m_count = 0;
    for (int row = 0; row < m_model.rowCount(); ++row)
        if (m_model.kindOf(row) == m_kind) {
            ++m_count;
            if (m_count > mostRows)
                continue;
            if (m_count > 1)
                m_layout->addWidget(makeLine(this));
            m_layout->addWidget(makeRow(row));
        }
    if (m_count > mostRows)
        m_layout->addWidget(
            makeLabel(tr("%1; an export has all").arg(firstRowsText(mostRows, m_count)), "muted", this));
    m_buttons.refresh();
    Q_EMIT changed();
}

} // namespace lockstep::ui

#include "moc_verdict_advice.cpp"
