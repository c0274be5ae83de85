#include "app/ui/pages/plan_rows.h"

#include <QListView>
#include <QPainter>

#include <algorithm>

#include "app/ui/theme/theme.h"
#include "models/plan_model.h"
#include "models/roles.h"

namespace lockstep::ui {
namespace {
constexpr int planRow = 6 * grid, boxHeight = 20, boxGap = 4;

void paintRowBack(QPainter *painter, const QStyleOptionViewItem &option, const Palette &p) {
    painter->setRenderHint(QPainter::Antialiasing);
    const bool selected = option.state & QStyle::State_Selected, hovered = option.state & QStyle::State_MouseOver;
    if (!selected && !hovered)
        return;
    painter->setPen(Qt::NoPen);
    painter->setBrush(selected ? p.selection : p.raised);
    painter->drawRoundedRect(option.rect.adjusted(0, 1, 0, -1), 6, 6);
}
} // namespace

PlanRowDelegate::PlanRowDelegate(const Theme &theme, QObject *parent) : QStyledItemDelegate(parent), m_theme(theme) {}

void PlanRowDelegate::paintDevices(QPainter *painter, const QRect &box, const QStringList &devices,
                                   const QColor &color) const {
    const Palette &p = m_theme.palette();
    const QFont font = Theme::font(Type::Small);
    const QFontMetrics metrics(font);
    painter->setFont(font);
    int x = box.left();
    for (qsizetype i = 0; i < devices.size(); ++i) {
        // A GPU's UUID is long: its first letters tell it apart here, the tooltip has it whole.
        const QString name = devices[i].size() > 12 ? devices[i].left(10) + QStringLiteral("…") : devices[i];
        const int width = metrics.horizontalAdvance(name) + 12;
        const QString more = QStringLiteral("+%1").arg(devices.size() - i);
        if (x + width > box.right() - (i + 1 < devices.size() ? metrics.horizontalAdvance(more) + 8 : 0)) {
            painter->setPen(p.textMuted);
            painter->drawText(QRect(x, box.top(), box.right() - x, boxHeight), Qt::AlignVCenter | Qt::AlignLeft, more);
            return;
        }
        painter->setPen(QPen(mix(p.surface, color, 0.7), 1));
        painter->setBrush(mix(p.surface, color, 0.14));
        painter->drawRoundedRect(QRectF(x + 0.5, box.top() + 0.5, width - 1, boxHeight - 1), 4, 4);
        painter->setPen(p.text);
        painter->drawText(QRect(x, box.top(), width, boxHeight), Qt::AlignCenter, name);
        x += width + boxGap;
    }
}

void PlanRowDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const {
    const auto *model = qobject_cast<const core::PlanModel *>(index.model());
    if (!model)
        return;
    const Palette &p = m_theme.palette();
    const core::PlannedRun &run = model->runAt(index.row());
    const QColor color = methodColor(QString::fromUtf8(toString(run.config.method).data()));
    painter->save();
    paintRowBack(painter, option, p);
    const QRect row = option.rect.adjusted(grid, 4, -grid, -4);
    painter->setFont(Theme::figures(Type::Small));
    painter->setPen(p.textMuted);
    painter->drawText(QRect(row.left(), row.top(), 20, 20), Qt::AlignVCenter | Qt::AlignRight,
                      run.runnable() ? QString::number(index.row() + 1) : QStringLiteral("-"));
    painter->fillRect(QRectF(row.left() + 28, row.top() + 2, 3, row.height() - 4), run.runnable() ? color : p.border);
    const int left = row.left() + 40;
    const QString estimate = model->index(index.row(), core::PlanModel::Estimate).data().toString();
    const QFontMetrics small(Theme::figures(Type::Small));
    const int right = run.runnable() ? small.horizontalAdvance(estimate) + grid : 0;
    QString name = QString::fromStdString(run.name);
    if (run.repeats > 1)
        name += QStringLiteral("  ·  %1/%2").arg(run.repeat).arg(run.repeats);
    painter->setFont(Theme::font(Type::Body, QFont::DemiBold));
    painter->setPen(run.runnable() ? p.text : p.textMuted);
    painter->drawText(QRect(left, row.top(), row.right() - left - right, 20), Qt::AlignVCenter | Qt::AlignLeft,
                      QFontMetrics(painter->font()).elidedText(name, Qt::ElideRight, row.right() - left - right));
    if (run.runnable()) {
        painter->setFont(Theme::figures(Type::Small));
        painter->setPen(p.textSecondary);
        painter->drawText(QRect(row.right() - right, row.top(), right, 20), Qt::AlignVCenter | Qt::AlignRight,
                          estimate);
        paintDevices(painter, QRect(left, row.top() + 20, row.right() - left, boxHeight), model->devicesAt(index.row()),
                     color);
    } else {
        painter->setFont(Theme::font(Type::Small));
        painter->setPen(p.textMuted);
        painter->drawText(
            QRect(left, row.top() + 20, row.right() - left, 20), Qt::AlignVCenter | Qt::AlignLeft,
            QFontMetrics(painter->font())
                .elidedText(QString::fromStdString(run.notRunReason), Qt::ElideRight, row.right() - left));
    }
    painter->restore();
}

QSize PlanRowDelegate::sizeHint(const QStyleOptionViewItem &, const QModelIndex &) const {
    return {200, planRow + 4};
}

RecipeDelegate::RecipeDelegate(const Theme &theme, QObject *parent) : QStyledItemDelegate(parent), m_theme(theme) {}

int RecipeDelegate::lines(int width, const QModelIndex &index, int role) const {
    const QString text = index.data(role).toString();
    if (text.isEmpty())
        return 0;
    const QRect box = QFontMetrics(Theme::font(Type::Small))
                          .boundingRect(QRect(0, 0, width, 1000), Qt::TextWordWrap | Qt::AlignLeft, text);
    return std::min(3, (box.height() + 8) / 16);
}

void RecipeDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const {
    const Palette &p = m_theme.palette();
    painter->save();
    paintRowBack(painter, option, p);
    QRect box = option.rect.adjusted(grid, grid, -grid, -grid);
    painter->setFont(Theme::font(Type::Body, QFont::DemiBold));
    painter->setPen(p.text);
    painter->drawText(QRect(box.left(), box.top(), box.width(), 20), Qt::AlignVCenter | Qt::AlignLeft,
                      QFontMetrics(painter->font()).elidedText(index.data().toString(), Qt::ElideRight, box.width()));
    box.setTop(box.top() + 22);
    painter->setFont(Theme::font(Type::Small));
    for (const auto &[role, color] :
         {std::pair(int(SummaryRole), p.textSecondary), {int(PublishedLineRole), p.textMuted}}) {
        const int height = lines(box.width(), index, role) * 16;
        painter->setPen(color);
        painter->drawText(QRect(box.left(), box.top(), box.width(), height),
                          int(Qt::AlignLeft | Qt::AlignTop) | Qt::TextWordWrap, index.data(role).toString());
        box.setTop(box.top() + height + (height ? 4 : 0));
    }
    painter->restore();
}

QSize RecipeDelegate::sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const {
    const auto *view = qobject_cast<const QListView *>(option.widget);
    const int width = (view ? view->viewport()->width() : 240) - 2 * grid;
    const int text = lines(width, index, SummaryRole), published = lines(width, index, PublishedLineRole);
    return {200, 2 * grid + 22 + text * 16 + published * 16 + (text ? 4 : 0)};
}

} // namespace lockstep::ui
