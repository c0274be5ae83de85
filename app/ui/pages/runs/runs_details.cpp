// SPDX-License-Identifier: MIT
#include "app/ui/pages/runs/runs_details.h"

#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QToolButton>
#include <QVBoxLayout>

#include "analysis/history/run_rows.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "ipc/run_folder.h"

namespace lockstep::ui {
namespace {

constexpr int pauseMs = 1200;

QString text(const std::string &utf8) {
    return QString::fromStdString(utf8);
}

/// Fields that differ from their default, the ones a column shows anyway left out.
QString settingsText(const core::IndexedRun &run) {
    QStringList out;
    for (const QString &line : text(run.settings).split(QLatin1Char('\n'), Qt::SkipEmptyParts)) {
        const QString key = line.section(QLatin1Char('='), 0, 0);
        static const QStringList elsewhere = {"method", "devices", "device", "model", "dataset", "epochs", "backend"};
        if (!elsewhere.contains(key))
            out.append(line.section(QLatin1Char('='), 0, 0).replace(QLatin1Char('_'), QLatin1Char(' ')) +
                       QLatin1Char(' ') + line.section(QLatin1Char('='), 1));
    }
    return out.join(QStringLiteral(", "));
}

QString withUnit(const core::RunColumn &column, const QString &value) {
    const QString head = text(column.head);
    const QString unit = head.contains(QLatin1Char('(')) ? head.section(QLatin1Char('('), 1).chopped(1) : QString();
    return value == QLatin1String("-") || unit.isEmpty() ? value : value + QLatin1Char(' ') + unit;
}

std::vector<core::RunColumn> allColumns(const std::vector<core::IndexedRun> &runs) {
    std::vector<core::RunColumn> out(core::runColumns().begin(), core::runColumns().end());
    for (core::RunColumn &column : core::inventedColumns(runs))
        out.push_back(std::move(column));
    return out;
}

QString headWithoutUnit(const core::RunColumn &column) {
    return text(column.head).section(QStringLiteral(" ("), 0, 0);
}

} // namespace

RunDetails::RunDetails(Theme &theme, QWidget *parent) : QWidget(parent), m_theme(theme) {
    build();
    m_pause.setSingleShot(true);
    m_pause.setInterval(pauseMs);
    connect(&m_pause, &QTimer::timeout, this, &RunDetails::takeNote);
    connect(&m_theme, &Theme::changed, this, &RunDetails::restyle);
    show({});
}

void RunDetails::build() {
    auto *outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    auto *card = new QFrame(this);
    card->setObjectName(QStringLiteral("card"));
    auto *rows = new QVBoxLayout(card);
    rows->setContentsMargins(2 * grid, 2 * grid, 2 * grid, 2 * grid);
    rows->setSpacing(grid);
    outer->addWidget(card);
    m_star = new QToolButton(card);
    m_star->setToolTip(tr("Marks the run; the filter star=yes finds it (S)"));
    m_star->setAccessibleName(tr("Star"));
    connect(m_star, &QToolButton::clicked, this, &RunDetails::starWanted);
    m_title = makeLabel({}, "title", card);
    m_title->setWordWrap(true);
    auto *head = new QHBoxLayout;
    head->addWidget(m_title, 1);
    head->addWidget(m_star, 0, Qt::AlignTop);
    rows->addLayout(head);
    m_state = makeLabel({}, "secondary", card);
    m_state->setWordWrap(true);
    rows->addWidget(m_state);
    m_reason = makeLabel({}, "wrong", card);
    m_reason->setWordWrap(true);
    m_reason->setTextInteractionFlags(Qt::TextSelectableByMouse);
    rows->addWidget(m_reason);
    m_tags = new QLineEdit(card);
    m_tags->setPlaceholderText(tr("Tags   (T)"));
    m_tags->setAccessibleName(tr("Tags"));
    m_tags->setToolTip(tr("Words of your own to find runs by, joined by commas: tag=slow. Enter saves them"));
    connect(m_tags, &QLineEdit::editingFinished, this, &RunDetails::takeTags);
    rows->addWidget(m_tags);
    m_mistake = makeLabel({}, "wrong", card);
    m_mistake->setWordWrap(true);
    m_mistake->hide();
    rows->addWidget(m_mistake);
    m_noteHead = makeLabel(tr("Note"), "small", card);
    rows->addWidget(m_noteHead);
    m_note = new QPlainTextEdit(card);
    m_note->setObjectName(QStringLiteral("note"));
    m_note->setPlaceholderText(tr("Note about this run   (N)"));
    m_note->setAccessibleName(tr("Note"));
    m_note->setTabChangesFocus(true);
    m_note->setMaximumHeight(12 * grid);
    connect(m_note, &QPlainTextEdit::textChanged, this, [this] {
        if (m_note->toPlainText().toStdString() != m_noteBefore)
            m_pause.start();
    });
    rows->addWidget(m_note);
    auto *area = new QScrollArea(card);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setFocusPolicy(Qt::NoFocus);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto *scrolled = new QWidget(area);
    scrolled->setObjectName(QStringLiteral("scrolled"));
    m_place = new QVBoxLayout(scrolled);
    m_place->setContentsMargins(0, 0, grid, 0);
    area->setWidget(scrolled);
    rows->addWidget(area, 1);
    m_duplicate = new QPushButton(tr("Duplicate into Plan"), card);
    m_duplicate->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_D));
    m_duplicate->setToolTip(tr("Opens Plan with this run's settings (Ctrl+D)"));
    connect(m_duplicate, &QPushButton::clicked, this, &RunDetails::duplicateWanted);
    rows->addWidget(m_duplicate);
}

void RunDetails::show(const std::vector<const core::IndexedRun *> &runs) {
    std::vector<std::string> ids;
    for (const core::IndexedRun *run : runs)
        ids.push_back(run->run);
    const bool others = ids != m_ids;
    if (others)
        flush();
    m_ids = ids;
    for (QWidget *widget : std::initializer_list<QWidget *>{m_star, m_tags})
        widget->setVisible(!runs.empty());
    const bool one = runs.size() == 1;
    for (QWidget *widget : std::initializer_list<QWidget *>{m_note, m_noteHead, m_duplicate})
        widget->setVisible(one);
    m_duplicate->setEnabled(one && !runs.front()->settings.empty());
    m_reason->hide();
    if (others)
        m_mistake->hide();
    if (runs.empty()) {
        m_title->setText(tr("No run chosen"));
        m_state->setText(tr("Choose one run for its figures, two to compare them, several for their mean or range."));
        return showFacts({});
    }
    m_starred = std::all_of(runs.begin(), runs.end(), [](const auto *run) { return run->starred; });
    const std::string tags = one ? runs.front()->tags : std::string(), note = one ? runs.front()->note : std::string();
    if (others || (!m_tags->hasFocus() && tags != m_tagsBefore))
        m_tags->setText(text(tags));
    if (others || (!m_note->hasFocus() && note != m_noteBefore)) {
        m_noteBefore = note;
        m_note->setPlainText(text(note));
    }
    m_tags->setPlaceholderText(tr("Tags   (T)"));
    m_tagsBefore = tags;
    m_noteBefore = m_note->hasFocus() && !others ? m_noteBefore : note;
    if (one)
        showOne(*runs.front());
    else
        showSeveral(runs);
    restyle();
}

void RunDetails::showOne(const core::IndexedRun &run) {
    m_title->setText(text(run.title()).isEmpty() ? text(run.run) : text(run.title()));
    QStringList state = {text(run.state)};
    if (!run.givenName.empty() && !run.name.empty())
        state.append(text(run.ownTitle()));
    m_state->setText(state.join(QStringLiteral(" · ")));
    m_reason->setText(text(run.reason));
    m_reason->setVisible(!run.reason.empty());
    QList<std::pair<QString, QString>> facts;
    for (const core::RunColumn &column : allColumns({run})) {
        const bool shownElsewhere = column.key == "name" || column.key == "state" || column.key == "reason" ||
                                    column.key == "star" || column.key == "tags" || column.key == "note" ||
                                    column.key == "repeat";
        const bool field = column.setting && findField(column.key) && column.key != "devices" &&
                           column.key != "model" && column.key != "dataset" && column.key != "epochs" &&
                           column.key != "backend";
        if (shownElsewhere || field)
            continue;
        const QString value = core::shownValue(column, column.value(run));
        if (value != QLatin1String("-"))
            facts.append({headWithoutUnit(column), withUnit(column, value)});
    }
    if (const QString settings = settingsText(run); !settings.isEmpty())
        facts.append({tr("Settings"), settings});
    showFacts(facts);
}

/// Mean ± standard deviation of what was measured; of runs that are no repeats of each other, which have no mean, the range.
void RunDetails::showSeveral(const std::vector<const core::IndexedRun *> &runs) {
    m_title->setText(tr("%1 runs").arg(runs.size()));
    std::vector<core::IndexedRun> list;
    std::vector<int> all;
    for (const core::IndexedRun *run : runs) {
        all.push_back(int(list.size()));
        list.push_back(*run);
    }
    m_state->setText(core::groupState(list, all));
    m_tags->setPlaceholderText(tr("Add tags to all"));
    const bool repeats = std::ranges::all_of(
        list, [&](const core::IndexedRun &run) { return core::groupKey(run) == core::groupKey(list.front()); });
    QList<std::pair<QString, QString>> facts;
    for (const core::RunColumn &column : allColumns(list))
        if (column.measured) {
            const core::GroupFigures figures = core::figuresOf(column, list, all);
            if (figures.mean)
                facts.append({headWithoutUnit(column), withUnit(column, repeats ? core::groupText(column, list, all)
                                                                                : core::rangeText(column, list, all)) +
                                                           tr("  (n = %1)").arg(figures.count)});
        }
    showFacts(facts);
}

void RunDetails::showFacts(const QList<std::pair<QString, QString>> &facts) {
    if (facts == m_shownFacts && m_facts) // nothing to rebuild, e.g. after each key in the filter line
        return;
    m_shownFacts = facts;
    delete m_facts;
    m_facts = new QWidget(m_place->parentWidget());
    auto *form = new QFormLayout(m_facts);
    form->setContentsMargins(0, 0, 0, 0);
    form->setRowWrapPolicy(QFormLayout::WrapLongRows); // an id that finds no room stands below its name
    form->setHorizontalSpacing(3 * grid / 2);
    form->setVerticalSpacing(grid / 2);
    form->setLabelAlignment(Qt::AlignLeft);
    for (const auto &[name, value] : facts) {
        auto *label = new QLabel(m_facts);
        label->setTextFormat(Qt::PlainText);
        label->setText(value);
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        if (isRunId(value.toStdString())) { // one word, read whole
            label->setWordWrap(false);
            label->setFont(Theme::mono(Type::Small));
        }
        auto *head = makeLabel(name, "small", m_facts);
        if (constexpr int most = 14 * grid; head->sizeHint().width() > most) { // an id needs the rest
            head->setWordWrap(true);
            head->setFixedWidth(most);
        }
        form->addRow(head, label);
    }
    m_place->insertWidget(0, m_facts, 0, Qt::AlignTop);
}

void RunDetails::flush() {
    takeTags();
    takeNote();
}

void RunDetails::takeTags() {
    const std::string written = m_tags->text().toStdString();
    if (m_ids.empty() || written == m_tagsBefore)
        return;
    const auto tags = core::tagsFrom(written);
    setStyleProperty(m_tags, "mistake", !tags.has_value());
    m_mistake->setVisible(!tags);
    if (!tags)
        return m_mistake->setText(QString::fromStdString(tags.error().message()));
    m_tagsBefore = written;
    const bool add = m_ids.size() > 1;
    Q_EMIT changeWanted(m_ids, [tags = *tags, add](core::RunNotes &notes) {
        if (!add)
            notes.tags.clear();
        notes.tags.insert(notes.tags.end(), tags.begin(), tags.end());
    });
    if (add) {
        m_tagsBefore.clear();
        m_tags->clear();
    }
}

void RunDetails::takeNote() {
    m_pause.stop();
    const std::string written = m_note->toPlainText().toStdString();
    if (m_ids.size() != 1 || written == m_noteBefore)
        return;
    m_noteBefore = written;
    Q_EMIT changeWanted(m_ids, [written](core::RunNotes &notes) { notes.note = written; });
}

void RunDetails::restyle() {
    m_star->setIcon(m_theme.icon(m_starred ? QStringLiteral("star-full") : QStringLiteral("star"),
                                 m_starred ? m_theme.palette().text : m_theme.palette().textMuted));
    m_star->setIconSize({20, 20});
}

} // namespace lockstep::ui

#include "moc_runs_details.cpp"
