// SPDX-License-Identifier: MIT
#include "app/ui/theme/theme.h"

#include <QAbstractButton>
#include <QApplication>
#include <QEvent>
#include <QFile>
#include <QFontDatabase>
#include <QFontInfo>
#include <QFontMetricsF>
#include <QPainter>
#include <QPixmapCache>
#include <QStyle>
#include <QStyleFactory>
#include <QSvgRenderer>
#include <QToolTip>

static void initUiResources() {
    Q_INIT_RESOURCE(ui);
    Q_INIT_RESOURCE(docs);
}

namespace lockstep::ui {
namespace {

bool looksDark() {
    // Qt before 6.5 has no colour scheme: derive it from the platform's palette.
    QApplication::setPalette(QPalette());
    const QPalette palette = QApplication::palette();
    return palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
}

QPalette toQPalette(const Palette &p) {
    QPalette out;
    out.setColor(QPalette::Window, p.window);
    out.setColor(QPalette::WindowText, p.text);
    out.setColor(QPalette::Base, p.surface);
    out.setColor(QPalette::AlternateBase, p.raised);
    out.setColor(QPalette::Text, p.text);
    out.setColor(QPalette::PlaceholderText, p.textMuted);
    out.setColor(QPalette::Button, p.surface);
    out.setColor(QPalette::ButtonText, p.text);
    out.setColor(QPalette::BrightText, p.wrong);
    out.setColor(QPalette::Highlight, p.selection);
    out.setColor(QPalette::HighlightedText, p.text);
    out.setColor(QPalette::ToolTipBase, p.accent);
    out.setColor(QPalette::ToolTipText, p.onAccent);
    out.setColor(QPalette::Link, p.text);
    out.setColor(QPalette::LinkVisited, p.text);
    out.setColor(QPalette::Light, p.raised);
    out.setColor(QPalette::Midlight, p.raised);
    out.setColor(QPalette::Mid, p.border);
    out.setColor(QPalette::Dark, p.border);
    out.setColor(QPalette::Shadow, p.border);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        out.setColor(QPalette::Disabled, role, p.textMuted);
    return out;
}

QString styleSheet(const Palette &p) {
    QFile file(QStringLiteral(":/themes/lockstep.qss"));
    if (!file.open(QIODevice::ReadOnly))
        return {};
    QString text = QString::fromUtf8(file.readAll());
    const std::pair<const char *, QColor> tokens[] = {
        {"@window@", p.window},
        {"@surface@", p.surface},
        {"@raised@", p.raised},
        {"@border@", p.border},
        {"@textSecondary@", p.textSecondary},
        {"@textMuted@", p.textMuted},
        {"@text@", p.text},
        {"@accent@", p.accent},
        {"@onAccent@", p.onAccent},
        {"@selection@", p.selection},
        {"@goodSoft@", mix(p.surface, p.good, 0.10)},
        {"@good@", p.good},
        {"@wrongSoft@", p.wrongSoft},
        {"@wrong@", p.wrong},
        {"@accentHover@", mix(p.accent, p.surface, 0.15)},
        {"@borderStrong@", mix(p.border, p.text, 0.22)},
        {"@controlBorder@", controlBorder(p)},
    };
    for (const auto &[token, color] : tokens)
        text.replace(QLatin1String(token), color.name());
    text.replace(QLatin1String("@mode@"), p.dark ? QLatin1String("dark") : QLatin1String("light"));
    return text;
}

} // namespace

Theme::Theme(ThemeMode mode, QObject *parent) : QObject(parent), m_mode(mode) {
    initUiResources();
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    m_systemDark = looksDark();
    apply();
    qApp->installEventFilter(this);
}

void Theme::setMode(ThemeMode mode) {
    if (m_mode == mode)
        return;
    m_mode = mode;
    apply();
}

void Theme::apply() {
    m_applying = true;
    const bool dark = m_mode == ThemeMode::Dark || (m_mode == ThemeMode::System && m_systemDark);
    m_palette = dark ? darkPalette() : lightPalette();
    QApplication::setFont(font(Type::Body));
    QApplication::setPalette(toQPalette(m_palette));
    QToolTip::setFont(font(Type::Small));
    qApp->setStyleSheet(styleSheet(m_palette));
    m_applying = false;
    Q_EMIT changed();
}

bool Theme::eventFilter(QObject *watched, QEvent *event) {
    if (watched == qApp && event->type() == QEvent::ThemeChange && !m_applying) {
        m_applying = true;
        m_systemDark = looksDark();
        apply();
    }
    return QObject::eventFilter(watched, event);
}

QFont Theme::font(Type size, QFont::Weight weight) {
    static const QString family = QFontDatabase::systemFont(QFontDatabase::GeneralFont).family();
    QFont out(family);
    out.setPixelSize(int(size));
    out.setWeight(weight);
    return out;
}

QFont Theme::figures(Type size, QFont::Weight weight) {
    QFont out = font(size, weight);
    const QFontMetricsF metrics(out);
    const double one = metrics.horizontalAdvance(QLatin1Char('1'));
    for (char digit = '0'; digit <= '9'; ++digit)
        if (std::abs(metrics.horizontalAdvance(QLatin1Char(digit)) - one) > 0.01) {
            // A face with proportional figures: fixed width keeps columns straight.
            out.setFamily(mono(size).family());
            break;
        }
    return out;
}

QFont Theme::mono(Type size) {
    QFont out = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    out.setPixelSize(int(size));
    return out;
}

QIcon Theme::icon(const QString &name, const QColor &color) const {
    return render(name, color, 0);
}

void Theme::setIcon(QAbstractButton *button, const QString &name, const QColor &color) const {
    constexpr int air = 6;
    const int size = button->iconSize().height();
    button->setIcon(render(name, color, air));
    button->setIconSize({size + air, size});
}

QIcon Theme::render(const QString &name, const QColor &color, int air) const {
    QString source; // read only when a picture is missing: delegates ask for icons with every row they paint
    const auto draw = [&](const QColor &ink, int size) {
        const QString key = QStringLiteral("lockstep/%1/%2/%3/%4").arg(name, ink.name()).arg(size).arg(air);
        QPixmap pixmap;
        if (QPixmapCache::find(key, &pixmap))
            return pixmap;
        if (QFile file(QStringLiteral(":/icons/%1.svg").arg(name)); source.isEmpty() && file.open(QIODevice::ReadOnly))
            source = QString::fromUtf8(file.readAll());
        QString svg = source;
        svg.replace(QLatin1String("currentColor"), ink.name());
        QSvgRenderer renderer(svg.toUtf8());
        pixmap = QPixmap(size + air, size);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        renderer.render(&painter, QRectF(0, 0, size, size));
        painter.end();
        QPixmapCache::insert(key, pixmap);
        return pixmap;
    };
    if (!QFile::exists(QStringLiteral(":/icons/%1.svg").arg(name)))
        return {};
    QIcon out;
    const QColor ink = color.isValid() ? color : m_palette.text;
    for (const int size : {16, 20, 24, 32, 48}) {
        out.addPixmap(draw(ink, size), QIcon::Normal);
        out.addPixmap(draw(m_palette.textMuted, size), QIcon::Disabled);
    }
    return out;
}

} // namespace lockstep::ui

#include "moc_theme.cpp"
