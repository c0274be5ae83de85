// SPDX-License-Identifier: MIT
#include "app/ui/pages/plan/plan_rows.h"

#include <QListView>
#include <QPainter>
#include <QTextLayout>
#include <QTextOption>

#include <algorithm>

#include "app/ui/theme/theme.h"
#include "experiment/planned_backend.h"
#include "models/plan_model.h"
#include "models/roles.h"

namespace lockstep::ui {
namespace {
constexpr int planLine = 20, planBox = 20, boxGap = 4;
constexpr int planLeft = 40; ///< of a row's text, after its number and its mark
constexpr int recipeLine = 18;

void paintRowBack(QPainter *painter, const QStyleOptionViewItem &option, const Palette &p) {
    painter->setRenderHint(QPainter::Antialiasing);
    const bool selected = option.state & QStyle::State_Selected, hovered = option.state & QStyle::State_MouseOver;
    if (!selected && !hovered)
        return;
    painter->setPen(Qt::NoPen);
    painter->setBrush(selected ? p.selection : p.raised);
    painter->drawRoundedRect(option.rect.adjusted(0, 1, 0, -1), 6, 6);
}
/// The text in lines of that width, at most so many.
QStringList wrapped(const QString &text, const QFont &font, int width, int most) {
    QStringList out;
    if (text.isEmpty()) // which a layout would make an empty line of
        return out;
    if (QFontMetrics(font).horizontalAdvance(text) <= width)
        return {text};
    QTextLayout layout(text, font);
    QTextOption option;
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere); // a file's name is one word
    layout.setTextOption(option);
    layout.beginLayout();
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(width);
        if (out.size() + 1 == most) { // the last one takes what is left, cut with dots
            out.append(QFontMetrics(font).elidedText(text.mid(line.textStart()), Qt::ElideRight, width));
            break;
        }
        out.append(text.mid(line.textStart(), line.textLength()).trimmed());
    }
    layout.endLayout();
    return out;
}

int viewWidth(const QStyleOptionViewItem &option, int otherwise) {
    const auto *view = qobject_cast<const QListView *>(option.widget);
    return view ? view->viewport()->width() : otherwise;
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
        const bool uuid = devices[i].startsWith(QLatin1String("GPU-")) || devices[i].startsWith(QLatin1String("MIG-"));
        const QString name = uuid && devices[i].size() > 12 ? devices[i].left(10) + QStringLiteral("…") : devices[i];
        const int width = metrics.horizontalAdvance(name) + 12;
        const QString more = QStringLiteral("+%1").arg(devices.size() - i);
        if (x + width > box.right() - (i + 1 < devices.size() ? metrics.horizontalAdvance(more) + 8 : 0)) {
            painter->setPen(p.textMuted);
            painter->drawText(QRect(x, box.top(), box.right() - x, planBox), Qt::AlignVCenter | Qt::AlignLeft, more);
            return;
        }
        painter->setPen(QPen(mix(p.surface, color, 0.7), 1));
        painter->setBrush(mix(p.surface, color, 0.14));
        painter->drawRoundedRect(QRectF(x + 0.5, box.top() + 0.5, width - 1, planBox - 1), 4, 4);
        painter->setPen(p.text);
        painter->drawText(QRect(x, box.top(), width, planBox), Qt::AlignCenter, name);
        x += width + boxGap;
    }
}

void PlanRowDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const {
    const auto *model = qobject_cast<const core::PlanModel *>(index.model());
    if (!model)
        return;
    const Palette &p = m_theme.palette();
    const core::PlannedRun &run = model->runAt(index.row());
    // Of a plan with mistakes the rows stand there still, as what they are: the plan before.
    const bool outdated = !(option.state & QStyle::State_Enabled);
    const bool counts = run.runnable() && !outdated;
    const QColor color = outdated ? p.border : methodColor(run.config.method);
    painter->save();
    paintRowBack(painter, option, p);
    const QRect row = option.rect.adjusted(grid, 4, -grid, -4);
    const QColor muted = mutedInRow(p, option.state & QStyle::State_Selected);
    painter->setFont(Theme::figures(Type::Small));
    painter->setPen(muted);
    painter->drawText(QRect(row.left(), row.top(), 20, 20), Qt::AlignVCenter | Qt::AlignRight,
                      run.runnable() ? QString::number(index.row() + 1) : QStringLiteral("-"));
    painter->fillRect(QRectF(row.left() + 28, row.top() + 2, 3, row.height() - 4), counts ? color : p.border);
    const int left = row.left() + planLeft;
    const Texts texts = textsOf(*model, index.row(), row.width());
    int y = row.top();
    const auto draw = [&](const QStringList &lines, const QFont &font, const QColor &pen) {
        painter->setFont(font);
        painter->setPen(pen);
        for (const QString &line : lines) {
            painter->drawText(QRect(left, y, row.right() - left, planLine), Qt::AlignVCenter | Qt::AlignLeft, line);
            y += planLine;
        }
    };
    draw(texts.name, Theme::font(Type::Body, QFont::DemiBold), counts ? p.text : muted);
    draw(texts.reason, Theme::font(Type::Small), muted);
    if (counts) {
        const QFontMetrics small(Theme::figures(Type::Small));
        painter->setFont(Theme::figures(Type::Small));
        painter->setPen(p.textSecondary);
        painter->drawText(QRect(row.left(), row.top(), row.width(), planLine), Qt::AlignVCenter | Qt::AlignRight,
                          texts.estimate);
        const QString backend = QString::fromStdString(core::backendOf(run).name);
        const int side = backend.isEmpty() ? 0 : small.horizontalAdvance(backend) + grid;
        painter->drawText(QRect(row.right() - side, y, side, planBox), Qt::AlignVCenter | Qt::AlignRight, backend);
        paintDevices(painter, QRect(left, y, row.right() - left - side, planBox), model->devicesAt(index.row()), color);
    }
    painter->restore();
}

PlanRowDelegate::Texts PlanRowDelegate::textsOf(const core::PlanModel &model, int row, int width) {
    const core::PlannedRun &run = model.runAt(row);
    Texts texts;
    QString name = QString::fromStdString(run.name);
    if (run.repeats > 1)
        name += QStringLiteral("  ·  %1/%2").arg(run.repeat).arg(run.repeats);
    int beside = 0;
    if (run.runnable()) {
        texts.estimate = model.index(row, core::PlanModel::Estimate).data().toString();
        beside = QFontMetrics(Theme::figures(Type::Small)).horizontalAdvance(texts.estimate) + grid;
    } else {
        QString reason = QString::fromStdString(run.notRunReason);
        if (!run.note.empty())
            reason += QStringLiteral(" · ") + QString::fromStdString(run.note);
        texts.reason = wrapped(reason, Theme::font(Type::Small), width - planLeft, 3);
    }
    texts.name = wrapped(name, Theme::font(Type::Body, QFont::DemiBold), width - planLeft - beside, 2);
    return texts;
}

QSize PlanRowDelegate::sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const {
    const auto *model = qobject_cast<const core::PlanModel *>(index.model());
    if (!model)
        return {200, planLine + planBox + 12};
    const Texts texts = textsOf(*model, index.row(), viewWidth(option, 240) - 2 * grid);
    const int boxes = texts.reason.isEmpty() ? planBox : 0;
    return {200, int(texts.name.size() + texts.reason.size()) * planLine + boxes + 12};
}

RecipeDelegate::RecipeDelegate(const Theme &theme, QObject *parent) : QStyledItemDelegate(parent), m_theme(theme) {}

QStringList RecipeDelegate::linesOf(const QModelIndex &index, int width) {
    return wrapped(index.data().toString(), Theme::font(Type::Body, QFont::DemiBold), width, 2);
}

void RecipeDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const {
    const Palette &p = m_theme.palette();
    painter->save();
    paintRowBack(painter, option, p);
    QRect box = option.rect.adjusted(grid, grid, -grid, -grid);
    painter->setFont(Theme::font(Type::Body, QFont::DemiBold));
    painter->setPen(p.text);
    for (const QString &line : linesOf(index, box.width())) {
        painter->drawText(QRect(box.left(), box.top(), box.width(), recipeLine), Qt::AlignVCenter | Qt::AlignLeft,
                          line);
        box.setTop(box.top() + recipeLine);
    }
    painter->restore();
}

QSize RecipeDelegate::sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const {
    const QStringList lines = linesOf(index, viewWidth(option, 240) - 2 * grid);
    return {200, 2 * grid + int(lines.size()) * recipeLine};
}

} // namespace lockstep::ui

#include "moc_plan_rows.cpp"
