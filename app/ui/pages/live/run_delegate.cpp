// SPDX-License-Identifier: MIT
#include "app/ui/pages/live/run_delegate.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/name_lines.h"
#include "models/roles.h"
#include "models/run_choice_model.h"

namespace lockstep::ui {

using core::RunChoiceModel;

namespace {
constexpr int boxSize = 14, sideSwatch = 16;
static_assert(RunDelegate::nameLeft == 4 + boxSize + 8 + sideSwatch + 6);
} // namespace

const RunStyle *styleOfRow(const std::vector<RunStyle> &styles, const QModelIndex &index) {
    const auto found = std::ranges::find(styles, index.data(core::RunIdRole).toString(), &RunStyle::runId);
    return found == styles.end() ? nullptr : &*found;
}

void RunDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const {
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

bool RunDelegate::editorEvent(QEvent *event, QAbstractItemModel *model, const QStyleOptionViewItem &,
                              const QModelIndex &index) {
    const auto *mouse = event->type() == QEvent::MouseButtonRelease ? static_cast<QMouseEvent *>(event) : nullptr;
    if (!mouse || mouse->button() != Qt::LeftButton)
        return false;
    const QModelIndex box =
        index.siblingAtColumn(index.column() == RunChoiceModel::Pin ? RunChoiceModel::Pin : RunChoiceModel::Name);
    const bool on = box.data(Qt::CheckStateRole).toInt() == Qt::Checked;
    return model->setData(box, on ? Qt::Unchecked : Qt::Checked, Qt::CheckStateRole);
}

void RunDelegate::paintName(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index,
                            bool on) const {
    const Palette &p = m_theme.palette();
    QRectF box(option.rect.left() + 4, option.rect.center().y() - boxSize / 2.0 + 0.5, boxSize, boxSize);
    painter->setPen(QPen(on ? p.accent : controlBorder(p), 1));
    painter->setBrush(on ? p.accent : p.surface);
    painter->drawRoundedRect(box, 3, 3);
    if (on) {
        painter->setPen(QPen(p.onAccent, 1.6, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter->drawPolyline(QPolygonF({{box.left() + 3.5, box.center().y() + 0.5},
                                         {box.left() + 6, box.bottom() - 4},
                                         {box.right() - 3, box.top() + 4}}));
    }
    double left = box.right() + 8;
    const RunStyle *style = styleOfRow(m_styles, index);
    const bool pale = style && m_highlight.pales(style->name);
    if (style) {
        painter->setPen(QPen(pale ? paled(style->color, p)
                             : on ? style->color
                                  : mix(p.surface, style->color, 0.45),
                             m_highlight.isOn(style->runId) ? 4 : 2, style->penStyle));
        painter->drawLine(QPointF(left, box.center().y()), QPointF(left + sideSwatch, box.center().y()));
    }
    left = option.rect.left() + nameLeft;
    const double width = option.rect.right() - left;
    const QString reason = index.data(core::ReasonRole).toString();
    painter->setFont(Theme::font(Type::Small));
    const QFontMetricsF metrics(painter->font());
    const QColor ink = !reason.isEmpty() ? p.wrong : on ? p.text : mutedInRow(p, option.state & QStyle::State_Selected);
    painter->setPen(pale ? paled(ink, p) : ink);
    const QStringList why = reason.isEmpty() ? QStringList() : sentenceLines(reason, metrics, width, reasonLines);
    const double height = option.rect.height() - double(why.size()) * nameLine;
    ui::paintName(painter, {left, double(option.rect.top()), width, height}, paintedName(index.data().toString()));
    double y = option.rect.top() + height - 4;
    for (const QString &line : why) {
        painter->drawText(QRectF(left, y, width + 1, nameLine), Qt::AlignVCenter | Qt::AlignLeft, line);
        y += nameLine;
    }
}

void RunDelegate::paintLoss(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const {
    if (!index.data(core::ReasonRole).toString().isEmpty())
        return; // the button for its console is there
    const QString text = index.data().toString();
    painter->setFont(Theme::figures(Type::Small));
    const Palette &p = m_theme.palette();
    painter->setPen(text == QLatin1String("-") ? mutedInRow(p, option.state & QStyle::State_Selected)
                                               : p.textSecondary);
    const QRect room = option.rect.adjusted(0, 0, -2, 0);
    painter->drawText(room, Qt::AlignVCenter | Qt::AlignRight,
                      painter->fontMetrics().elidedText(text, Qt::ElideRight, room.width()));
}

void RunDelegate::paintPin(QPainter *painter, const QStyleOptionViewItem &option, bool on) const {
    const Palette &p = m_theme.palette();
    const bool seen = on || option.state & (QStyle::State_MouseOver | QStyle::State_Selected);
    const QIcon icon = m_theme.icon(QStringLiteral("pin"), on ? p.text : mix(p.surface, p.textMuted, seen ? 1 : 0.45));
    icon.paint(painter, QRect(option.rect.center() - QPoint(8, 8), QSize(16, 16)));
}

} // namespace lockstep::ui
