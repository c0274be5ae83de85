// SPDX-License-Identifier: MIT
#include "app/ui/pages/shared/finding_list.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "models/cells.h"

namespace lockstep::ui {
namespace {

constexpr int graveWidth = 10 * grid, whereWidth = 22 * grid;

QLabel *wrapping(const std::string &text, const char *role, QWidget *parent) {
    QLabel *label = makeLabel(core::qs(text), role, parent);
    label->setTextFormat(Qt::PlainText); // a host's own words are among them
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    label->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    return label;
}

/// A host's name is one word, which a label would clip: where it is too long, it may break after each dot and dash.
QString breakable(QString text, const QFontMetrics &metrics, int width) {
    constexpr char16_t mayBreak = 0x200B; // a space without width
    if (metrics.horizontalAdvance(text) <= width)
        return text;
    for (const QChar after : {u'.', u'-'})
        text.replace(after, QString(after) + QChar(mayBreak));
    return text;
}

} // namespace

FindingList::FindingList(QWidget *parent, Width width)
    : QWidget(parent), m_layout(new QVBoxLayout(this)), m_width(width) {
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(grid);
}

QWidget *FindingList::makeRow(const core::Finding &finding) {
    auto *box = new QWidget(this);
    const bool narrow = m_width == Width::Narrow;
    auto *outer = new QVBoxLayout(box);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->setSpacing(grid / 2);
    auto *across = new QHBoxLayout;
    across->setSpacing(narrow ? grid : 2 * grid);
    outer->addLayout(across);
    const bool error = finding.severity == core::Finding::Severity::Error;
    QLabel *grave = wrapping(std::string(core::toString(finding.severity)), error ? "wrong" : "small", box);
    if (narrow)
        grave->setWordWrap(false);
    else
        grave->setFixedWidth(graveWidth);
    QFont weight = grave->font();
    weight.setWeight(QFont::DemiBold);
    grave->setFont(weight);
    QLabel *where = wrapping(finding.where, "secondary", box);
    if (!narrow) {
        where->setFixedWidth(whereWidth);
        where->setText(breakable(where->text(), where->fontMetrics(), whereWidth));
    }
    across->addWidget(grave, 0, Qt::AlignTop);
    across->addWidget(where, narrow ? 1 : 0, Qt::AlignTop);
    auto *said = new QVBoxLayout;
    said->setSpacing(grid / 2);
    said->addWidget(wrapping(finding.what, "", box));
    if (!finding.fix.empty())
        said->addWidget(wrapping(finding.fix, "secondary", box));
    if (narrow)
        outer->addLayout(said);
    else
        across->addLayout(said, 1);
    return box;
}

void FindingList::setFindings(const std::vector<core::Finding> &findings) {
    clear(*m_layout);
    m_count = int(findings.size());
    for (const core::Finding &finding : findings) {
        if (m_layout->count() > 0)
            m_layout->addWidget(makeLine(this));
        m_layout->addWidget(makeRow(finding));
    }
}

} // namespace lockstep::ui

#include "moc_finding_list.cpp"
