// SPDX-License-Identifier: MIT
#pragma once
#include <QDialog>

class QTextBrowser;

namespace lockstep::ui {
class Theme;

/// A built-in recipe's page of the manual (docs/recipes/NAME.md): its purpose, the published figures, the results.
class RecipeReaderDialog : public QDialog {
    Q_OBJECT
public:
    RecipeReaderDialog(Theme &theme, const QString &recipe, QWidget *parent = nullptr);
    /// Whether there is such a page: a person's own recipe has none.
    [[nodiscard]] static bool hasPage(const QString &recipe);
    [[nodiscard]] QTextBrowser *text() const { return m_text; }

private:
    void restyle();
    void styleText();

    Theme &m_theme;
    QTextBrowser *m_text;
};

} // namespace lockstep::ui
