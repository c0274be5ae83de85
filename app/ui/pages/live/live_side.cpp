// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/live_side.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QSlider>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <numeric>
#include <utility>

#include "app/ui/pages/live/live_setting.h"
#include "app/ui/pages/live/run_delegate.h"
#include "app/ui/pages/live/run_order.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/name_lines.h"
#include "app/ui/widgets/tables.h"
#include "models/roles.h"
#include "models/run_choice_model.h"

namespace lockstep::ui {
namespace {

using core::RunChoiceModel;
constexpr int sideWidth = 29 * grid, sideRow = 26;
constexpr int reasonWidth = 150; ///< why a run failed
constexpr int lossWidth = 44, pinWidth = 24, sideMargin = 3 * grid;

std::vector<int> ranksOf(const std::vector<RunStyle> &styles) {
    std::vector<int> order(styles.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](int at) { return placeOf(styles[std::size_t(at)]); });
    std::vector<int> ranks(styles.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        ranks[std::size_t(order[i])] = int(i);
    return ranks;
}

} // namespace

LiveSide::LiveSide(Theme &theme, RunChoiceModel &choice, RunHighlight &highlight, QWidget *parent)
    : QFrame(parent), m_theme(theme), m_choice(choice), m_highlight(highlight), m_axis(new QComboBox(this)),
      m_smooth(new QSlider(Qt::Horizontal, this)), m_log(new QCheckBox(tr("Log axis"), this)),
      m_published(new QCheckBox(tr("Published"), this)), m_table(makeTable(theme, this)) {
    setObjectName(QStringLiteral("card"));
    fitTo(0);
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(grid + grid / 2, grid + grid / 2, grid + grid / 2, grid);
    layout->setSpacing(grid / 2);
    buildView();
    layout->addWidget(m_axis);
    auto *row = new QHBoxLayout;
    row->addWidget(makeLabel(tr("smooth"), "muted", this));
    row->addWidget(m_smooth, 1);
    layout->addLayout(row);
    layout->addWidget(m_log);
    layout->addWidget(m_published);
    layout->addSpacing(grid / 2);
    layout->addWidget(makeLine(this));
    buildRuns();
    QLabel *lossHead = makeLabel(tr("loss, last epoch"), "muted", this);
    lossHead->setAlignment(Qt::AlignRight);
    lossHead->setContentsMargins(0, 0, pinWidth, 0);
    layout->addWidget(lossHead);
    layout->addWidget(m_table, 1);
    auto *buttons = new QHBoxLayout;
    const auto add = [&](const QString &text, const QString &verb, const QKeySequence &keys, bool shown) {
        auto *button = new QPushButton(text, this);
        button->setProperty("verb", verb);
        button->setToolTip(tr("%1 (%2)").arg(verb, keys.toString(QKeySequence::NativeText)));
        button->setShortcut(keys);
        connect(button, &QPushButton::clicked, this, [this, shown] { m_choice.showAll(shown); });
        buttons->addWidget(button);
    };
    add(tr("All"), tr("Show every run"), QKeySequence(Qt::ALT | Qt::Key_A), true);
    add(tr("None"), tr("Hide every run"), QKeySequence(Qt::ALT | Qt::Key_N), false);
    layout->addLayout(buttons);
}

void LiveSide::buildView() {
    m_axis->addItems({tr("x: epoch"), tr("x: step"), tr("x: training time"), tr("x: time of day")});
    m_axis->setToolTip(tr("Epochs, steps, seconds of training without pauses, or the time of day"));
    m_axis->setAccessibleName(tr("x axis"));
    m_axis->setFixedHeight(28);
    connect(m_axis, &QComboBox::currentIndexChanged, this, &LiveSide::axisChanged);
    m_smooth->setRange(0, 99);
    m_smooth->setValue(core::RunCurves::usualSmoothing);
    m_smooth->setAccessibleName(tr("Smoothing"));
    m_smooth->setToolTip(tr("Exponential moving average; leftmost: none"));
    connect(m_smooth, &QSlider::valueChanged, this, &LiveSide::smoothingChanged);
    m_log->setShortcut(QKeySequence(Qt::ALT | Qt::Key_L));
    m_log->setToolTip(tr("Loss on a logarithmic axis (Alt+L)"));
    connect(m_log, &QCheckBox::toggled, this, &LiveSide::logChanged);
    m_published->setShortcut(QKeySequence(Qt::ALT | Qt::Key_P));
    m_published->setToolTip(tr("Published figures, dotted: other machines, often other data (Alt+P)"));
    connect(m_published, &QCheckBox::toggled, this, &LiveSide::publishedChanged);
}

void LiveSide::buildRuns() {
    auto *order = new RunOrder(this);
    order->setDynamicSortFilter(false);
    order->setSourceModel(&m_choice);
    m_order = order;
    m_table->setModel(order);
    m_table->setItemDelegate(new RunDelegate(m_theme, m_styles, m_highlight, m_table));
    followPointer();
    m_table->setAccessibleName(tr("Runs"));
    m_table->horizontalHeader()->hide();
    m_table->setSortingEnabled(false);
    m_table->verticalHeader()->setDefaultSectionSize(sideRow);
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->setMouseTracking(true);
    m_table->horizontalHeader()->setMinimumSectionSize(20);
    m_table->horizontalHeader()->setStretchLastSection(false);
    m_table->horizontalHeader()->setSectionResizeMode(RunChoiceModel::Name, QHeaderView::Stretch);
    for (const auto &[column, width] :
         {std::pair(int(RunChoiceModel::Loss), lossWidth), {int(RunChoiceModel::Pin), pinWidth}}) {
        m_table->horizontalHeader()->setSectionResizeMode(column, QHeaderView::Fixed);
        m_table->setColumnWidth(column, width);
    }
    connect(m_table->horizontalHeader(), &QHeaderView::sectionResized, this, &LiveSide::fitRows);
    const auto act = [this](const QString &text, const QKeySequence &keys, const auto &what) {
        auto *action = new QAction(text, m_table);
        action->setShortcut(keys);
        action->setShortcutContext(Qt::WidgetShortcut);
        connect(action, &QAction::triggered, this, [this, what] {
            if (m_table->currentIndex().isValid())
                what(m_table->currentIndex().data(core::RunIdRole).toString());
        });
        m_table->addAction(action);
    };
    m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
    act(tr("Show or hide"), QKeySequence(Qt::Key_Space),
        [this](const QString &id) { m_choice.setShown(id, !m_choice.isShown(id)); });
    act(tr("Show only this"), QKeySequence(Qt::Key_O), [this](const QString &id) { m_choice.showOnly(id); });
    act(tr("Last console lines"), QKeySequence(Qt::Key_Return),
        [this](const QString &id) { Q_EMIT consoleWanted(id); });
    act(tr("Pin or unpin"), QKeySequence(Qt::Key_P),
        [this](const QString &id) { m_choice.setPinned(id, !m_choice.isPinned(id)); });
    connect(m_table, &QTableView::doubleClicked, this, [this](const QModelIndex &index) {
        if (index.column() != RunChoiceModel::Pin) {
            m_choice.setShown(index.data(core::RunIdRole).toString(), true);
            m_choice.showOnly(index.data(core::RunIdRole).toString());
        }
    });
}

/// The run of the row under the pointer, or of the current row while keys move it, is emphasised in all pictures.
void LiveSide::followPointer() {
    const auto point = [this](const QModelIndex &index) {
        if (const RunStyle *style = index.isValid() ? styleOfRow(m_styles, index) : nullptr)
            m_highlight.point(style->key());
    };
    connect(m_table, &QTableView::entered, this, point);
    connect(m_table, &QTableView::viewportEntered, &m_highlight, &RunHighlight::clear);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this, point](const QModelIndex &index) {
                if (m_table->hasFocus())
                    point(index);
            });
    connect(&m_highlight, &RunHighlight::changed, m_table->viewport(), qOverload<>(&QWidget::update));
    m_table->viewport()->installEventFilter(this);
    m_table->installEventFilter(this);
}

bool LiveSide::eventFilter(QObject *watched, QEvent *event) {
    if ((watched == m_table->viewport() && event->type() == QEvent::Leave) ||
        (watched == m_table && event->type() == QEvent::FocusOut))
        m_highlight.clear();
    if (watched == m_table->viewport() &&
        event->type() == QEvent::Resize) // its scroll bar came or went: names are placed anew
        QMetaObject::invokeMethod(this, &LiveSide::fitRows, Qt::QueuedConnection);
    return QFrame::eventFilter(watched, event);
}

void LiveSide::fitTo(int pageWidth) {
    m_pageWidth = pageWidth;
    // Room for each name on two lines, and for half of its pixels on each: breaks are where words end.
    const QFontMetricsF metrics(Theme::font(Type::Small));
    double wanted = 0;
    for (int row = 0; row < m_choice.rowCount(); ++row)
        if (!m_choice.index(row, RunChoiceModel::Name).data(core::ReasonRole).toString().isEmpty())
            wanted = reasonWidth;
    for (const RunStyle &style : m_styles)
        for (double width = metrics.horizontalAdvance(paintedName(style.name)) / 2; width > wanted; width += grid)
            if (!isCutShort(paintedName(style.name), metrics, width)) {
                wanted = width;
                break;
            }
    const int names = int(wanted) + 2 + RunDelegate::nameLeft + lossWidth + pinWidth + sideMargin + 2 * grid;
    setFixedWidth(std::clamp(std::max(pageWidth / 8, names), sideWidth, std::max(sideWidth, pageWidth / 4)));
}

/// A long name takes two lines, a reason one more; a row with a reason has a button for the console.
void LiveSide::fitRows() {
    const QFontMetricsF metrics(Theme::font(Type::Small));
    const double width = m_table->columnWidth(RunChoiceModel::Name) - RunDelegate::nameLeft;
    for (int row = 0; row < m_order->rowCount(); ++row) {
        const QModelIndex name = m_order->index(row, RunChoiceModel::Name);
        const QString reason = name.data(core::ReasonRole).toString();
        const bool failed = !reason.isEmpty();
        const auto lines = nameLines(paintedName(name.data().toString()), metrics, width).size() +
                           (failed ? sentenceLines(reason, metrics, width, RunDelegate::reasonLines).size() : 0);
        m_table->setRowHeight(row, sideRow + int(double(lines - 1) * nameLine));
        offerConsole(name.siblingAtColumn(RunChoiceModel::Loss), failed);
    }
}

void LiveSide::offerConsole(const QModelIndex &index, bool offered) {
    if (offered == bool(m_table->indexWidget(index)))
        return;
    if (!offered)
        return m_table->setIndexWidget(index, nullptr);
    auto *console = new QToolButton(m_table);
    console->setIcon(m_theme.icon(QStringLiteral("console"), m_theme.palette().wrong));
    console->setToolTip(tr("Last console lines of the run that failed (Return in the list)"));
    console->setAccessibleName(tr("Console of %1").arg(index.siblingAtColumn(RunChoiceModel::Name).data().toString()));
    const QString runId = index.data(core::RunIdRole).toString();
    connect(console, &QToolButton::clicked, this, [this, runId] { Q_EMIT consoleWanted(runId); });
    m_table->setIndexWidget(index, console);
}

core::RunCurves::XAxis LiveSide::axis() const {
    using XAxis = core::RunCurves::XAxis;
    static constexpr XAxis axes[] = {XAxis::Epoch, XAxis::Step, XAxis::RunTime, XAxis::Wall};
    return axes[std::size_t(std::clamp(m_axis->currentIndex(), 0, 3))];
}

QString LiveSide::axisTitle() const {
    switch (m_axis->currentIndex()) {
    case 0:
        return tr("epoch");
    case 1:
        return tr("step");
    case 2:
        return tr("training time / s");
    default:
        return tr("time of day");
    }
}

CurveView LiveSide::view() const {
    return {axis(), axisTitle(), std::min(0.99, m_smooth->value() / 100.0)};
}

void LiveSide::saveView(QSettings &settings) const {
    settings.setValue(liveSetting("axis"), m_axis->currentIndex());
    settings.setValue(liveSetting("smoothing"), m_smooth->value());
    settings.setValue(liveSetting("log"), m_log->isChecked());
}

void LiveSide::restoreView(const QSettings &settings) {
    const int axis = settings.value(liveSetting("axis"), 0).toInt();
    m_axis->setCurrentIndex(axis >= 0 && axis < m_axis->count() ? axis : 0);
    m_smooth->setValue(settings.value(liveSetting("smoothing"), core::RunCurves::usualSmoothing).toInt());
    m_log->setChecked(settings.value(liveSetting("log"), false).toBool());
}

void LiveSide::resetView() {
    m_axis->setCurrentIndex(0);
    m_smooth->setValue(core::RunCurves::usualSmoothing);
    m_log->setChecked(false);
}

void LiveSide::setStyles(const std::vector<RunStyle> &styles) {
    m_styles = styles;
    QStringList names;
    for (const RunStyle &style : styles) {
        const bool repeats = std::count_if(styles.begin(), styles.end(),
                                           [&](const RunStyle &other) { return other.name == style.name; }) > 1;
        names.append(repeats ? tr("%1 #%2").arg(style.name, QString::number(style.repeat)) : style.name);
    }
    m_choice.setNames(names);
    static_cast<RunOrder *>(m_order)->arrange(ranksOf(styles));
    fitTo(m_pageWidth);
    fitRows();
    m_table->viewport()->update();
}

} // namespace lockstep::ui

#include "moc_live_side.cpp"
