// SPDX-License-Identifier: MIT
#include "app/ui/charts/phase_style.h"

#include <QFontMetricsF>
#include <QHash>
#include <QPainter>

#include <algorithm>
#include <array>
#include <utility>

#include "app/ui/charts/bar_rows.h"
#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {

constexpr double keySwatch = 16, keyGap = 5, keyApart = 14;
constexpr double keyRow = 18; ///< px that the key takes on a line of its own

double footTitleWidth(const QString &title) {
    return QFontMetricsF(Theme::font(Type::Small)).horizontalAdvance(title) + 2;
}

/// A phase of each style, and the style's name; an empty phase stands for the line that shows waiting.
std::array<std::pair<QString, QString>, 4> keyEntries() {
    return {{{QStringLiteral("load"), QObject::tr("loading")},
             {QStringLiteral("forward"), QObject::tr("compute")},
             {QStringLiteral("comm"), QObject::tr("communication")},
             {QString(), QObject::tr("waiting")}}};
}

} // namespace

PhaseStyle phaseStyle(const QString &phase) {
    static const QHash<QString, PhaseStyle> styles = {{"load", PhaseStyle::Load},
                                                      {"h2d", PhaseStyle::Load},
                                                      {"forward", PhaseStyle::Compute},
                                                      {"backward", PhaseStyle::Compute},
                                                      {"optimizer", PhaseStyle::Compute},
                                                      {"parallel_forward", PhaseStyle::Compute},
                                                      {"loss", PhaseStyle::Compute},
                                                      {"parallel_backward", PhaseStyle::Compute},
                                                      {"exposed", PhaseStyle::Communicate},
                                                      {"comm", PhaseStyle::Communicate},
                                                      {"wait", PhaseStyle::Communicate},
                                                      {"scatter", PhaseStyle::Communicate},
                                                      {"replicate", PhaseStyle::Communicate},
                                                      {"gather", PhaseStyle::Communicate},
                                                      {"reduce", PhaseStyle::Communicate}};
    return styles.value(phase, PhaseStyle::Rest);
}

QString phaseName(const QString &phase) {
    constexpr QLatin1StringView parallel("parallel_");
    return phase.startsWith(parallel) ? phase.mid(parallel.size()) : phase;
}

QString phaseMeaning(const QString &phase) {
    static const QHash<QString, QString> meanings = {
        {"load", QObject::tr("waiting for the next batch from the loader")},
        {"h2d", QObject::tr("copying the batch to the device")},
        {"forward", QObject::tr("computing outputs and loss")},
        {"backward", QObject::tr("computing gradients, until the last one is ready")},
        {"exposed", QObject::tr("communication that overlaps nothing: what is left after backward, or all of it "
                                "between a pipeline's stages")},
        {"optimizer", QObject::tr("updating the parameters")},
        {"other", QObject::tr("the rest of the loop: total minus all other phases")},
        {"comm", QObject::tr("all communication, hidden behind backward or not")},
        {"wait",
         QObject::tr(
             "the part of exposed spent waiting for other ranks: until the latest one's gradients are ready; in a "
             "pipeline, until the other stage has sent; with ps-async, as long as the limit on staleness holds back; "
             "on a device that only serves, until "
             "gradients come")},
        {"scatter", QObject::tr("DP: splitting the batch over the devices")},
        {"replicate", QObject::tr("DP: copying the parameters to every device")},
        {"parallel_forward", QObject::tr("DP: forward on all replicas")},
        {"gather", QObject::tr("DP: collecting the outputs on device 0")},
        {"loss", QObject::tr("DP: computing the loss on device 0")},
        {"parallel_backward", QObject::tr("DP: backward on all replicas")},
        {"reduce", QObject::tr("DP: adding the replicas' gradients on device 0")}};
    return meanings.value(phase);
}

QColor phaseFill(const QString &phase, const QColor &color, const Palette &palette) {
    switch (phaseStyle(phase)) {
    case PhaseStyle::Load:
        return mix(palette.surface, color, 0.28);
    case PhaseStyle::Compute:
        // Neighbours differ in depth so that their border shows.
        return mix(palette.surface, color, phase.contains(QLatin1String("backward")) ? 1.0 : 0.74);
    case PhaseStyle::Communicate:
        return mix(palette.surface, color, 0.14);
    case PhaseStyle::Rest:
        break;
    }
    return mix(palette.surface, palette.textMuted, 0.16);
}

void paintPhase(QPainter *painter, const QRectF &box, const QString &phase, const QColor &color,
                const Palette &palette) {
    painter->fillRect(box, phaseFill(phase, color, palette));
    if (phaseStyle(phase) == PhaseStyle::Communicate)
        hatch(painter, box, color);
    if (box.width() > 3)
        painter->fillRect(QRectF(box.right() - 1, box.top(), 1, box.height()), palette.surface);
}

void paintPhaseName(QPainter *painter, const QRectF &box, const QString &name, const QString &phase,
                    const QColor &fill) {
    if (phaseStyle(phase) == PhaseStyle::Communicate) { // letters on hatching don't read
        const double width = QFontMetricsF(painter->font()).horizontalAdvance(name) + 6;
        painter->fillRect(QRectF(box.center().x() - width / 2, box.top() + 1, width, box.height() - 2), fill);
    }
    const QColor ink("#14171C"), paper("#FFFFFF");
    painter->setPen(contrastRatio(fill, ink) > contrastRatio(fill, paper) ? ink : paper);
    painter->drawText(box, int(Qt::AlignCenter) | Qt::TextDontClip, name);
}

QString phaseKey() {
    return QObject::tr("pale: loading, solid: compute, hatched: communication");
}

double phaseKeyWidth() {
    const QFontMetricsF metrics(Theme::font(Type::Small));
    double width = -keyApart;
    for (const auto &[phase, word] : keyEntries())
        width += keySwatch + keyGap + metrics.horizontalAdvance(word) + keyApart;
    return width;
}

void paintPhaseKey(QPainter *painter, const QPointF &leftMiddle, const Palette &palette) {
    painter->setFont(Theme::font(Type::Small));
    const QFontMetricsF metrics(painter->font());
    double x = leftMiddle.x();
    for (const auto &[phase, word] : keyEntries()) {
        const QRectF swatch(x, leftMiddle.y() - 5, keySwatch, 10);
        if (phase.isEmpty())
            painter->fillRect(QRectF(swatch.left(), leftMiddle.y() - 0.5, keySwatch, 1), palette.textMuted);
        else
            paintPhase(painter, swatch, phase, palette.textSecondary, palette);
        painter->setPen(palette.textMuted);
        const double width = metrics.horizontalAdvance(word);
        painter->drawText(QRectF(swatch.right() + keyGap, leftMiddle.y() - 8, width + 2, 16),
                          Qt::AlignVCenter | Qt::AlignLeft, word);
        x = swatch.right() + keyGap + width + keyApart;
    }
}

double phaseFootHeight(const QSizeF &area, double leastRows, const QString &title) {
    const double key = phaseKeyWidth();
    const bool fitsBeside = footTitleWidth(title) + 2 * BarRows::gap + key <= area.width();
    const bool fitsBelow = key <= area.width() && leastRows + BarRows::axisHeight + keyRow <= area.height();
    return BarRows::axisHeight + (!fitsBeside && fitsBelow ? keyRow : 0);
}

void paintPhaseFoot(QPainter *painter, const QRectF &area, const QRectF &plot, const QString &title, double footHeight,
                    const Palette &palette) {
    painter->setFont(Theme::font(Type::Small));
    painter->setPen(palette.textMuted);
    const double titleWidth = footTitleWidth(title), titleTop = plot.bottom() + 18;
    const double keyLeft = area.right() - phaseKeyWidth(), below = footHeight - BarRows::axisHeight;
    const double centred = plot.center().x() - titleWidth / 2;
    const double besideKey = std::min(centred, keyLeft - 2 * BarRows::gap - titleWidth);
    const bool beside = below == 0 && besideKey >= area.left();
    painter->drawText(QRectF(beside ? besideKey : centred, titleTop, titleWidth, 16), Qt::AlignVCenter, title);
    if (beside || below > 0)
        paintPhaseKey(painter, {keyLeft, titleTop + 8 + below}, palette);
}

} // namespace lockstep::ui
