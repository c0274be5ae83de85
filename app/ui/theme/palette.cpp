// SPDX-License-Identifier: MIT
#include "app/ui/theme/palette.h"

#include <QString>

#include <algorithm>
#include <cmath>

namespace lockstep::ui {

Palette lightPalette() {
    Palette p;
    p.dark = false;
    p.window = QColor("#F5F6F8");
    p.surface = QColor("#FFFFFF");
    p.raised = QColor("#F0F2F5");
    p.border = QColor("#DFE3E8");
    p.grid = QColor("#E9ECF0");
    p.text = QColor("#171B22");
    p.textSecondary = QColor("#4C5563");
    p.textMuted = QColor("#6A7382");
    p.accent = QColor("#1B2230");
    p.onAccent = QColor("#FFFFFF");
    p.selection = QColor("#E4E8EE");
    p.wrong = QColor("#C22F2F");
    p.wrongSoft = QColor("#FBECEC");
    p.good = QColor("#2E7D4F");
    return p;
}

Palette darkPalette() {
    Palette p;
    p.dark = true;
    p.window = QColor("#12151A");
    p.surface = QColor("#1A1E25");
    p.raised = QColor("#232831");
    p.border = QColor("#2F3641");
    p.grid = QColor("#282E38");
    p.text = QColor("#E8EBF0");
    p.textSecondary = QColor("#B1B9C6");
    p.textMuted = QColor("#8B94A3");
    p.accent = QColor("#E8EBF0");
    p.onAccent = QColor("#12151A");
    p.selection = QColor("#2B323D");
    p.wrong = QColor("#F07070");
    p.wrongSoft = QColor("#3A2226");
    p.good = QColor("#5DBB84");
    return p;
}

QColor methodColor(const QString &method) {
    return QColor(QString::fromUtf8(methodColorName(method.toStdString())));
}

QColor methodColor(Method method) {
    return QColor(QString::fromUtf8(specOf(method).color));
}

namespace {
double linear(double channel) {
    return channel <= 0.03928 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}
double luminance(const QColor &c) {
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
}
} // namespace

double contrastRatio(const QColor &a, const QColor &b) {
    const double first = luminance(a), second = luminance(b);
    return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

QColor mix(const QColor &under, const QColor &over, double opacity) {
    const auto blend = [opacity](double u, double o) { return u + (o - u) * opacity; };
    return QColor::fromRgbF(float(blend(under.redF(), over.redF())), float(blend(under.greenF(), over.greenF())),
                            float(blend(under.blueF(), over.blueF())));
}

} // namespace lockstep::ui
