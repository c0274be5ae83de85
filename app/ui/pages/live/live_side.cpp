// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/live_side.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QSettings>
#include <QSlider>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

#include "app/ui/pages/live/live_setting.h"
#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"
#include "app/ui/widgets/tables.h"
#include "models/roles.h"
#include "models/run_choice_model.h"

namespace lockstep::ui {
namespace {

using core::RunChoiceModel;
constexpr int usualSmoothing = 60;
constexpr int sideWidth = 29 * grid, sideRow = 26, boxSize = 14, sideSwatch = 16;

/// A run's row: box, its line as it is drawn, its name; its pin.
class RunDelegate : public QStyledItemDelegate {
public:
    RunDelegate(const Theme &theme, const std::vector<RunLook> &looks, QObject *parent)
        : QStyledItemDelegate(parent), m_theme(theme), m_looks(looks) {}

    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override {
        const Palette &p = m_theme.palette();
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        if (option.state & (QStyle::State_MouseOver | QStyle::State_Selected))
            painter->fillRect(option.rect, option.state & QStyle::State_Selected ? p.selection : p.raised);
        const bool on = index.data(Qt::CheckStateRole).toInt() == Qt::Checked;
        if (index.column() == RunChoiceModel::Pin)
            paintPin(painter, option, on);
        else if (index.column() == RunChoiceModel::Name)
            paintName(painter, option, index, on);
        else
            paintLoss(painter, option, index);
        painter->restore();
    }

    bool editorEvent(QEvent *event, QAbstractItemModel *model, const QStyleOptionViewItem &,
                     const QModelIndex &index) override {
        const auto *mouse = event->type() == QEvent::MouseButtonRelease ? static_cast<QMouseEvent *>(event) : nullptr;
        if (!mouse || mouse->button() != Qt::LeftButton)
            return false;
        const QModelIndex box =
            index.siblingAtColumn(index.column() == RunChoiceModel::Pin ? RunChoiceModel::Pin : RunChoiceModel::Name);
        const bool on = box.data(Qt::CheckStateRole).toInt() == Qt::Checked;
        return model->setData(box, on ? Qt::Unchecked : Qt::Checked, Qt::CheckStateRole);
    }

private:
    void paintName(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index, bool on) const {
        const Palette &p = m_theme.palette();
        QRectF box(option.rect.left() + 4, option.rect.center().y() - boxSize / 2.0 + 0.5, boxSize, boxSize);
        painter->setPen(QPen(on ? p.accent : mix(p.border, p.text, 0.3), 1));
        painter->setBrush(on ? p.accent : p.surface);
        painter->drawRoundedRect(box, 3, 3);
        if (on) {
            painter->setPen(QPen(p.onAccent, 1.6, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
            painter->drawPolyline(QPolygonF({{box.left() + 3.5, box.center().y() + 0.5},
                                             {box.left() + 6, box.bottom() - 4},
                                             {box.right() - 3, box.top() + 4}}));
        }
        double left = box.right() + 8;
        if (std::size_t(index.row()) < m_looks.size()) {
            const RunLook &look = m_looks[std::size_t(index.row())];
            painter->setPen(QPen(on ? look.color : mix(p.surface, look.color, 0.45), 2, look.style));
            painter->drawLine(QPointF(left, box.center().y()), QPointF(left + sideSwatch, box.center().y()));
        }
        left += sideSwatch + 6;
        painter->setFont(Theme::font(Type::Small));
        painter->setPen(on ? p.text : p.textMuted);
        const double width = option.rect.right() - left;
        painter->drawText(QRectF(left, option.rect.top(), width, option.rect.height()),
                          Qt::AlignVCenter | Qt::AlignLeft,
                          QFontMetricsF(painter->font()).elidedText(index.data().toString(), Qt::ElideRight, width));
    }
    void paintLoss(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const {
        const QString text = index.data().toString();
        painter->setFont(Theme::figures(Type::Small));
        painter->setPen(text == QLatin1String("-") ? m_theme.palette().textMuted : m_theme.palette().textSecondary);
        painter->drawText(option.rect.adjusted(0, 0, -2, 0), Qt::AlignVCenter | Qt::AlignRight, text);
    }
    void paintPin(QPainter *painter, const QStyleOptionViewItem &option, bool on) const {
        const Palette &p = m_theme.palette();
        const bool seen = on || option.state & (QStyle::State_MouseOver | QStyle::State_Selected);
        const QIcon icon =
            m_theme.icon(QStringLiteral("pin"), on ? p.text : mix(p.surface, p.textMuted, seen ? 1 : 0.45));
        icon.paint(painter, QRect(option.rect.center() - QPoint(8, 8), QSize(16, 16)));
    }

    const Theme &m_theme;
    const std::vector<RunLook> &m_looks;
};

} // namespace

LiveSide::LiveSide(Theme &theme, RunChoiceModel &choice, QWidget *parent)
    : QFrame(parent), m_theme(theme), m_choice(choice), m_axis(new QComboBox(this)),
      m_smooth(new QSlider(Qt::Horizontal, this)), m_log(new QCheckBox(tr("Log axis"), this)),
      m_published(new QCheckBox(tr("Published figures"), this)), m_table(makeTable(theme, this)) {
    setObjectName(QStringLiteral("card"));
    setFixedWidth(sideWidth);
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
    layout->addWidget(m_table, 1);
    auto *buttons = new QHBoxLayout;
    const auto add = [&](const QString &text, const QString &hint, const QKeySequence &keys, bool shown) {
        auto *button = new QPushButton(text, this);
        button->setToolTip(hint);
        button->setShortcut(keys);
        connect(button, &QPushButton::clicked, this, [this, shown] { m_choice.showAll(shown); });
        buttons->addWidget(button);
    };
    add(tr("All"), tr("Show every run (Alt+A)"), QKeySequence(Qt::ALT | Qt::Key_A), true);
    add(tr("None"), tr("Hide every run (Alt+N)"), QKeySequence(Qt::ALT | Qt::Key_N), false);
    layout->addLayout(buttons);
}

void LiveSide::buildView() {
    m_axis->addItems({tr("x: epoch"), tr("x: step"), tr("x: relative time"), tr("x: wall time")});
    m_axis->setToolTip(tr("Loss over epochs, over steps, over seconds of training since the first step without pauses "
                          "(evaluation, checkpoints, restarts), or over the time of day"));
    m_axis->setAccessibleName(tr("x axis"));
    m_axis->setFixedHeight(28);
    connect(m_axis, &QComboBox::currentIndexChanged, this, &LiveSide::axisChanged);
    m_smooth->setRange(0, 99);
    m_smooth->setValue(usualSmoothing);
    m_smooth->setAccessibleName(tr("Smoothing"));
    m_smooth->setToolTip(
        tr("Exponential moving average along the axis, with the raw line behind it. Leftmost: the raw line alone"));
    connect(m_smooth, &QSlider::valueChanged, this, &LiveSide::smoothingChanged);
    m_log->setShortcut(QKeySequence(Qt::ALT | Qt::Key_L));
    m_log->setToolTip(tr("Loss on a logarithmic axis (Alt+L)"));
    connect(m_log, &QCheckBox::toggled, this, &LiveSide::logChanged);
    m_published->setShortcut(QKeySequence(Qt::ALT | Qt::Key_P));
    m_published->setToolTip(tr("The publication's own figures, dotted: other machines, and often other data (Alt+P)"));
    connect(m_published, &QCheckBox::toggled, this, &LiveSide::publishedChanged);
}

void LiveSide::buildRuns() {
    m_table->setModel(&m_choice);
    m_table->setItemDelegate(new RunDelegate(m_theme, m_looks, m_table));
    m_table->setAccessibleName(tr("Runs"));
    m_table->horizontalHeader()->hide();
    m_table->setSortingEnabled(false);
    m_table->verticalHeader()->setDefaultSectionSize(sideRow);
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->setMouseTracking(true);
    m_table->horizontalHeader()->setMinimumSectionSize(20);
    m_table->horizontalHeader()->setStretchLastSection(false);
    m_table->horizontalHeader()->setSectionResizeMode(RunChoiceModel::Name, QHeaderView::Stretch);
    for (const auto &[column, width] : {std::pair(int(RunChoiceModel::Loss), 44), {int(RunChoiceModel::Pin), 24}}) {
        m_table->horizontalHeader()->setSectionResizeMode(column, QHeaderView::Fixed);
        m_table->setColumnWidth(column, width);
    }
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
    act(tr("Pin or unpin"), QKeySequence(Qt::Key_P),
        [this](const QString &id) { m_choice.setPinned(id, !m_choice.isPinned(id)); });
    connect(m_table, &QTableView::doubleClicked, this, [this](const QModelIndex &index) {
        if (index.column() != RunChoiceModel::Pin) {
            m_choice.setShown(index.data(core::RunIdRole).toString(), true);
            m_choice.showOnly(index.data(core::RunIdRole).toString());
        }
    });
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
    m_smooth->setValue(settings.value(liveSetting("smoothing"), usualSmoothing).toInt());
    m_log->setChecked(settings.value(liveSetting("log"), false).toBool());
}

void LiveSide::resetView() {
    m_axis->setCurrentIndex(0);
    m_smooth->setValue(usualSmoothing);
    m_log->setChecked(false);
}

void LiveSide::setLooks(const std::vector<RunLook> &looks) {
    m_looks = looks;
    QStringList names;
    for (const RunLook &look : looks) {
        const bool repeats = std::count_if(looks.begin(), looks.end(),
                                           [&](const RunLook &other) { return other.name == look.name; }) > 1;
        names.append(repeats ? tr("%1 #%2").arg(look.name).arg(look.repeat) : look.name);
    }
    m_choice.setNames(names);
    m_table->viewport()->update();
}

} // namespace lockstep::ui
