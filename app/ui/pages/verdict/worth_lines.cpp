// SPDX-License-Identifier: MIT
#include "app/ui/pages/verdict/worth_lines.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

#include <algorithm>

#include "analysis/compare/cause_words.h"
#include "analysis/compare/settling_rounds.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/elided_label.h"

namespace lockstep::ui {
namespace {

enum Column { Word, Name, Figures, Room, Press };
constexpr int leastName = 12 * grid; ///< px that a name keeps where a line is full

/// The style sheet's name for how a word is coloured.
QString toneOf(core::Outcome outcome) {
    switch (outcome) {
    case core::Outcome::WorthIt:
        return QStringLiteral("good");
    case core::Outcome::Failed:
        return QStringLiteral("wrong");
    case core::Outcome::CantTell:
    case core::Outcome::Pending:
        return QStringLiteral("open");
    case core::Outcome::NotWorthIt:
    case core::Outcome::Faster: // which of two, be they worth it or not
    case core::Outcome::Slower:
    case core::Outcome::Equal:
    case core::Outcome::NotCompared:
        break;
    }
    return QStringLiteral("plain");
}

QString said(const std::string &text) {
    return QString::fromStdString(text);
}

/// What pressing it does; beside its own name a run is not named again: "Repeat (close other programs first)".
QString wordsBeside(const core::VerdictLine &line) {
    if (line.outcome == core::Outcome::Failed)
        return WorthLines::tr("Run again");
    QString words = suggestionText(*line.settles);
    return line.settles->again.empty() ? words : words.remove(said(line.run) + QLatin1Char(' '));
}

/// Whether one press does what both offer, whatever each of them is for.
bool isSameOffer(const std::optional<core::SuggestedRun> &one, const std::optional<core::SuggestedRun> &other) {
    const bool bothRounds = one && other && one->rounds > 0 && other->rounds > 0;
    return bothRounds ? one->rounds == other->rounds && one->experiment == other->experiment : one == other;
}

/// Shortcuts: the first button has the keys that the guide names, each further one a letter of its own.
QKeySequence settleKeys(qsizetype before) {
    return before == 0 ? QKeySequence(Qt::CTRL | Qt::Key_M)
                       : QKeySequence(int(Qt::CTRL) | int(Qt::Key_U), int(Qt::Key_A) + int(before) - 1);
}

} // namespace

WorthLines::WorthLines(QWidget *parent) : QWidget(parent), m_layout(new QGridLayout(this)) {
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setHorizontalSpacing(2 * grid);
    m_layout->setVerticalSpacing(0);
    m_layout->setColumnStretch(Room, 1);
}

void WorthLines::show(const std::vector<core::VerdictLine> &lines) {
    if (lines == m_lines)
        return;
    m_lines = lines;
    rebuild();
}

QString WorthLines::text() const {
    QStringList out;
    for (const core::VerdictLine &line : m_lines)
        out.append(said(core::sentenceOf(line)));
    return out.join(QLatin1Char(' '));
}

QLabel *WorthLines::addLabel(const QString &text, const char *role, int row, int column) {
    QLabel *label = makeLabel(text, role, this);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_layout->addWidget(label, row, column, Qt::AlignVCenter);
    return label;
}

void WorthLines::addSentence(const QString &text, const char *role, int row) {
    constexpr qsizetype longest = 2000; // laid out again whenever anything beside it moves
    QLabel *label = makeLabel(text.size() > longest ? text.first(longest) + u'…' : text, role, this);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    label->setWordWrap(true);
    m_layout->addWidget(label, row, Name, 1, Press - Name);
}

void WorthLines::addButtons(const QList<QPushButton *> &buttons, int row) {
    auto *across = new QHBoxLayout;
    across->setSpacing(grid);
    for (QPushButton *button : buttons)
        across->addWidget(button);
    m_layout->addLayout(across, row, Press, 2, 1, Qt::AlignVCenter | Qt::AlignRight);
}

void WorthLines::addName(const core::VerdictLine &line, int row) {
    auto *place = new QWidget(this);
    auto *across = new QHBoxLayout(place);
    across->setContentsMargins(0, 0, 0, 0);
    across->setSpacing(grid / 2);
    QLabel *dot = makeLabel({}, "title", place);
    dot->setTextFormat(Qt::RichText);
    const auto dotOf = [](const QString &method) {
        return QStringLiteral("<span style='color:%1'>●</span>").arg(methodColor(method).name());
    };
    dot->setText(dotOf(said(line.method)) + (line.contrast ? dotOf(said(line.otherMethod)) : QString()));
    auto *name = new ElidedLabel("title", leastName, place, ElidedLabel::Of::Name);
    name->setText(said(core::nameOf(line)));
    name->setToolTip(tr("%1, compared with %2").arg(said(line.run), said(line.against)));
    across->addWidget(dot);
    across->addWidget(name, 1);
    m_layout->addWidget(place, row, Name);
}

void WorthLines::addLine(const core::VerdictLine &line, int row) {
    QLabel *word = makeLabel(said(std::string(core::toString(line.outcome))), "outcome", this);
    word->setProperty("tone", toneOf(line.outcome));
    word->setAlignment(Qt::AlignCenter);
    m_layout->addWidget(word, row, Word, line.reason.empty() ? 1 : 2, 1, Qt::AlignVCenter);
    addName(line, row);
    addLabel(said(core::figuresText(line)), "title", row, Figures);
    const bool failed = line.outcome == core::Outcome::Failed;
    const bool offeredAbove = std::ranges::any_of(m_lines, [&](const core::VerdictLine &other) {
        return &other < &line && isSameOffer(other.settles, line.settles);
    });
    const bool offers = line.settles && !offeredAbove;
    const bool saidByButton = offers && line.settles->rounds > 0 &&
                              line.reason == core::repeatsText(*line.settles) + " " + std::string(core::wouldTell);
    if (!line.reason.empty() && !saidByButton)
        addSentence(said(core::atStart(line.reason)), failed ? "failure" : "secondary", row + 1);
    QList<QPushButton *> buttons;
    if (failed && !line.failed.front().run.empty())
        buttons.append(consoleOf(line.failed.front()));
    if (offers)
        buttons.append(m_settles.add(wordsBeside(line), *line.settles, settleKeys(m_settles.all().size()), this));
    if (!buttons.isEmpty())
        addButtons(buttons, row);
}

void WorthLines::addFailures(const core::VerdictLine &line, int row) {
    const core::FailedRepeat &first = line.failed.front();
    QString text = tr("Repeat %1 failed: %2").arg(first.repeat).arg(said(first.reason));
    if (line.failed.size() > 1)
        text += tr("; %1 more failed").arg(line.failed.size() - 1);
    addSentence(text, "failure", row);
    if (!first.run.empty())
        addButtons({consoleOf(first)}, row);
}

QPushButton *WorthLines::consoleOf(const core::FailedRepeat &failed) {
    auto *console = new QPushButton(tr("Console"), this);
    const QKeySequence keys(int(Qt::CTRL) | int(Qt::Key_U), int(Qt::Key_1) + int(m_consoles.size()));
    console->setShortcut(keys);
    console->setToolTip(
        tr("Last console lines of the repeat that failed (%1)").arg(keys.toString(QKeySequence::NativeText)));
    connect(console, &QPushButton::clicked, this, [this, id = said(failed.run)] { Q_EMIT consoleWanted(id); });
    m_consoles.append(console);
    return console;
}

void WorthLines::rebuild() {
    m_settles.clear();
    m_consoleFocus.hold(m_consoles);
    m_consoles.clear();
    clear(*m_layout);
    int row = 0;
    for (const core::VerdictLine &line : m_lines) {
        addLine(line, row);
        row += 2;
        if (!line.failed.empty() && line.outcome != core::Outcome::Failed) {
            addFailures(line, row);
            row += 2;
        }
        m_layout->setRowMinimumHeight(row++, &line == &m_lines.back() ? 0 : grid);
    }
    m_settles.refresh();
    m_consoleFocus.giveBack(m_consoles);
}

} // namespace lockstep::ui

#include "moc_worth_lines.cpp"
