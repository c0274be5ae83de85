// SPDX-License-Identifier: MIT
#pragma once
#include <QFont>
#include <QIcon>
#include <QObject>

#include "app/ui/theme/palette.h"

class QAbstractButton;

namespace lockstep::ui {

/// The one type scale, in device-independent pixels.
enum class Type { Small = 12, Body = 14, Title = 18, Display = 24 };

/// The one grid: distances are multiples of it (a half for hairline gaps).
inline constexpr int grid = 8;

/// How light and dark are chosen.
enum class ThemeMode { System, Light, Dark };

/// The application's style: palette, type, icons, style sheet. One lives as long as the window; widgets get a
/// reference and repaint on `changed`. GUI thread only.
class Theme : public QObject {
    Q_OBJECT
public:
    explicit Theme(ThemeMode mode = ThemeMode::System, QObject *parent = nullptr);

    [[nodiscard]] const Palette &palette() const { return m_palette; }
    [[nodiscard]] bool isDark() const { return m_palette.dark; }
    [[nodiscard]] bool systemIsDark() const { return m_systemDark; }
    [[nodiscard]] ThemeMode mode() const { return m_mode; }
    void setMode(ThemeMode mode);

    /// The window's face in one size of the scale.
    [[nodiscard]] static QFont font(Type size, QFont::Weight weight = QFont::Normal);
    /// The same with figures of equal width, for columns of numbers.
    [[nodiscard]] static QFont figures(Type size, QFont::Weight weight = QFont::Normal);
    /// Fixed width, for commands and consoles.
    [[nodiscard]] static QFont mono(Type size);

    /// An icon of resources/icons by name in a colour (the text's when invalid).
    [[nodiscard]] QIcon icon(const QString &name, const QColor &color = {}) const;
    /// Sets it on a button that also has words, with air between the two.
    void setIcon(QAbstractButton *button, const QString &name, const QColor &color = {}) const;

    bool eventFilter(QObject *watched, QEvent *event) override;

Q_SIGNALS:
    void changed();

private:
    friend class PaperColours;
    void apply();
    [[nodiscard]] QIcon render(const QString &name, const QColor &color, int air) const;

    ThemeMode m_mode;
    Palette m_palette;
    bool m_systemDark = false;
    bool m_applying = false;
};

/// While it lives, palette() is the light one: what is drawn meanwhile is for paper. The window keeps its colours, since changed() is not
/// emitted; so it lives within one turn of the event loop.
class PaperColours {
public:
    explicit PaperColours(Theme &theme) : m_theme(theme), m_screen(theme.m_palette) {
        theme.m_palette = lightPalette();
    }
    ~PaperColours() { m_theme.m_palette = m_screen; }
    PaperColours(const PaperColours &) = delete;
    PaperColours &operator=(const PaperColours &) = delete;

private:
    Theme &m_theme;
    Palette m_screen;
};

} // namespace lockstep::ui
