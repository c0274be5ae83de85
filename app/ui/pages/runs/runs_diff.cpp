// SPDX-License-Identifier: MIT
#include "app/ui/pages/runs/runs_diff.h"

#include <QAction>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/charts/chart_menu.h"
#include "app/ui/charts/line_chart.h"
#include "app/ui/charts/phase_bars.h"
#include "app/ui/pages/shared/run_style.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/tables.h"
#include "base/format.h"
#include "follow/run_follower.h"
#include "ipc/phase_sums.h"
#include "models/live_figures.h"
#include "store/run_store.h"

namespace lockstep::ui {
namespace {

using core::RunDiffModel;

/// Heads are bold over a hairline, folds muted.
class DiffDelegate : public CellDelegate {
public:
    using CellDelegate::CellDelegate;
    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override {
        const QModelIndex first = index.siblingAtColumn(RunDiffModel::What);
        const bool head = first.data(RunDiffModel::HeadRole).toBool();
        if (!head && !first.data(RunDiffModel::FoldRole).toBool())
            return CellDelegate::paint(painter, option, index);
        const Palette &p = theme().palette();
        painter->save();
        if (!head && (option.state & QStyle::State_MouseOver || option.state & QStyle::State_Selected))
            painter->fillRect(option.rect, p.raised);
        painter->setPen(QPen(head ? p.border : p.grid, 1));
        painter->drawLine(option.rect.bottomLeft(), option.rect.bottomRight());
        painter->setFont(Theme::font(head ? Type::Body : Type::Small, head ? QFont::DemiBold : QFont::Normal));
        painter->setPen(head ? p.text : p.textMuted);
        const QRect box = option.rect.adjusted(grid, head ? grid : 0, -grid, 0);
        painter->drawText(box, Qt::AlignVCenter | Qt::AlignLeft | Qt::TextSingleLine, index.data().toString());
        painter->restore();
    }
};

} // namespace

/// A run's store and its source.
struct RunsDiff::Side {
    explicit Side(const QString &id) : store(id), follower(&store, id) {}
    core::RunStore store;
    core::RunFollower follower;
};

RunsDiff::RunsDiff(Theme &theme, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_card(new Card(tr("Compare"), this)), m_axis(new QComboBox(this)) {
    auto *outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(m_card);
    buildTools();
    auto *split = new QSplitter(Qt::Vertical, m_card);
    split->setChildrenCollapsible(false);
    m_chart = new LineChart(theme, QStringLiteral("loss of two runs"), split);
    m_chart->setEmptyText(tr("No loss has been reported"));
    installChartMenu(m_chart, m_chart);
    m_phases = new PhaseBars(theme, QStringLiteral("phases of two runs"), split);
    m_phases->setEmptyText(tr("No phases have been reported"));
    m_table = makeTable(theme, split);
    m_table->setItemDelegate(new DiffDelegate(theme, -1, m_table));
    m_table->setModel(&m_model);
    m_table->setAccessibleName(tr("Differences"));
    m_table->verticalHeader()->setDefaultSectionSize(3 * grid + 4);
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    connect(m_table, &QTableView::clicked, this, [this](const QModelIndex &at) { m_model.toggle(at.row()); });
    connect(m_table, &QTableView::activated, this, [this](const QModelIndex &at) { m_model.toggle(at.row()); });
    for (QAction *rows : m_table->actions()) // its heads and folds are no rows to copy
        m_table->removeAction(rows);
    auto *copy = new QAction(tr("Copy the differences"), m_table);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    connect(copy, &QAction::triggered, this, [this] { QGuiApplication::clipboard()->setText(m_model.text()); });
    m_table->addAction(copy);
    m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
    split->setStretchFactor(0, 4);
    split->setStretchFactor(1, 2);
    split->setStretchFactor(2, 5);
    m_card->body()->addWidget(split, 1);
    m_timer.setSingleShot(true);
    m_timer.setInterval(100);
    connect(&m_timer, &QTimer::timeout, this, &RunsDiff::draw);
    connect(&m_set, &core::RunSet::changed, this, [this] {
        if (!m_timer.isActive())
            m_timer.start();
    });
    connect(&m_theme, &Theme::changed, this, &RunsDiff::restyle);
    restyle();
}

RunsDiff::~RunsDiff() {
    m_set.clear();
}

void RunsDiff::buildTools() {
    m_axis->addItem(tr("by epoch"), int(core::RunCurves::XAxis::Epoch));
    m_axis->addItem(tr("by step"), int(core::RunCurves::XAxis::Step));
    m_axis->addItem(tr("by time"), int(core::RunCurves::XAxis::RunTime));
    m_axis->setAccessibleName(tr("Axis"));
    m_axis->setToolTip(tr("Horizontal axis of the curves"));
    connect(m_axis, &QComboBox::currentIndexChanged, this, &RunsDiff::draw);
    m_all = new QPushButton(tr("All"), this);
    m_all->setProperty("verb", tr("Show what is equal, too"));
    m_all->setCheckable(true);
    m_all->setShortcut(QKeySequence(Qt::ALT | Qt::Key_A));
    m_all->setToolTip(tr("Also shows what is equal (Alt+A)"));
    connect(m_all, &QPushButton::toggled, this, [this](bool on) { m_model.setAllOpen(on); });
    m_swap = new QPushButton(this);
    m_swap->setAccessibleName(tr("Swap A and B"));
    m_swap->setShortcut(QKeySequence(Qt::ALT | Qt::Key_S));
    m_swap->setToolTip(tr("Swaps A and B (Alt+S)"));
    connect(m_swap, &QPushButton::clicked, this, &RunsDiff::swap);
    m_close = new QPushButton(this);
    m_close->setAccessibleName(tr("Close the comparison"));
    m_close->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_W));
    m_close->setToolTip(tr("Back to the run's details (Ctrl+W)"));
    connect(m_close, &QPushButton::clicked, this, &RunsDiff::closed);
    for (QWidget *tool : std::initializer_list<QWidget *>{m_axis, m_all, m_swap, m_close})
        m_card->addTool(tool);
}

void RunsDiff::compare(const QString &a, const QString &b) {
    if (m_a && m_a->store.runId() == a && m_b->store.runId() == b)
        return;
    clear();
    m_a = std::make_unique<Side>(a);
    m_b = std::make_unique<Side>(b);
    for (Side *side : {m_a.get(), m_b.get()}) {
        m_set.add(&side->store);
        connect(&side->follower, &core::RunFollower::ended, this, &RunsDiff::draw);
        side->follower.start();
    }
    draw();
}

void RunsDiff::clear() {
    m_timer.stop();
    m_set.clear();
    m_a.reset();
    m_b.reset();
}

void RunsDiff::swap() {
    if (isEmpty())
        return;
    std::swap(m_a, m_b);
    m_set.clear();
    m_set.add(&m_a->store);
    m_set.add(&m_b->store);
    draw();
}

void RunsDiff::draw() {
    if (isEmpty())
        return;
    m_model.setDiff(core::diffRuns(m_a->store, m_b->store));
    drawCurves();
    drawPhases();
}

/// A above B on one scale; what lies inside a phase in the thin row below, as on Live.
void RunsDiff::drawPhases() {
    const core::DiffSection *section = core::phasesOf(m_model.diff());
    const std::vector<std::string_view> &additive = additivePhases();
    std::vector<std::string_view> order =
        additive; // lines stand by how much they differ; a step has an order of its own
    order.insert(order.end(), nestedPhases().begin(), nestedPhases().end());
    const auto sortParts = [&order](QList<PhasePart> &parts) {
        const auto place = [&](const PhasePart &part) {
            return std::find(order.begin(), order.end(), part.phase.toStdString()) - order.begin();
        };
        std::stable_sort(parts.begin(), parts.end(),
                         [&](const PhasePart &a, const PhasePart &b) { return place(a) < place(b); });
    };
    QList<PhaseBar> bars;
    for (const RunStyle &style : runStyles(m_set)) {
        PhaseBar bar;
        bar.label = (style.index == 0 ? QStringLiteral("A ") : QStringLiteral("B ")) + style.name;
        bar.color = style.color;
        for (const core::DiffLine &line : section ? section->lines : std::vector<core::DiffLine>()) {
            const std::optional<double> seconds = style.index == 0 ? line.figureA : line.figureB;
            const std::string phase = line.label.toStdString();
            if (seconds && phase != "comm") // comm overlaps backward: it has no place in a stack
                (std::find(additive.begin(), additive.end(), phase) != additive.end() ? bar.parts : bar.nested)
                    .append(PhasePart{line.label, *seconds});
        }
        sortParts(bar.parts);
        sortParts(bar.nested);
        if (!bar.parts.isEmpty())
            bars.append(bar);
    }
    m_phases->setBars(bars);
}

/// Smoothed as Live usually does. A is drawn through, B dashed where the colour (the method) does not tell them apart.
void RunsDiff::drawCurves() {
    const auto axis = core::RunCurves::XAxis(m_axis->currentData().toInt());
    const bool byTime = axis == core::RunCurves::XAxis::RunTime;
    m_chart->setAxisTitles(byTime                                  ? tr("time since the first step / s")
                           : axis == core::RunCurves::XAxis::Epoch ? tr("epoch")
                                                                   : tr("step"),
                           tr("cross-entropy"));
    m_chart->setWholeX(!byTime);
    m_chart->setXRange(0, std::nullopt);
    QList<LineData> lines;
    for (const RunStyle &style : runStyles(m_set)) {
        LineData line;
        line.key = style.runId;
        line.name = (style.index == 0 ? QStringLiteral("A ") : QStringLiteral("B ")) + style.name;
        line.color = style.color;
        line.style = style.index == 1 && !lines.isEmpty() && lines.constFirst().color == style.color ? Qt::DashLine
                                                                                                     : Qt::SolidLine;
        line.data = m_curves.curve(style.index, axis);
        line.curve = m_curves.smoothed(style.index, axis, core::RunCurves::usualSmoothing / 100.0);
        line.endText = core::lossAtEnd(style.index == 0 ? m_a->store : m_b->store);
        lines.append(line);
    }
    m_chart->setLines(lines);
}

void RunsDiff::restyle() {
    m_theme.setIcon(m_swap, QStringLiteral("swap"), m_theme.palette().textSecondary);
    m_theme.setIcon(m_close, QStringLiteral("close"), m_theme.palette().textSecondary);
}

} // namespace lockstep::ui

#include "moc_runs_diff.cpp"
