// SPDX-License-Identifier: MIT
#pragma once
#include <QFrame>

class QToolButton;

namespace lockstep::ui {
class ElidedLabel;
class ExportJob;
class ProgressBar;
class Theme;

/// Shown above the page during an export: its progress and *Cancel*; afterwards the files and *Open folder*, or the error.
class ExportBanner : public QFrame {
    Q_OBJECT
public:
    explicit ExportBanner(const Theme &theme, QWidget *parent = nullptr);
    void follow(ExportJob *job);
    [[nodiscard]] QString text() const;
    [[nodiscard]] QToolButton *cancelButton() const { return m_cancel; }
    [[nodiscard]] QToolButton *openButton() const { return m_open; }
    [[nodiscard]] QToolButton *dismissButton() const { return m_dismiss; }

private:
    void showProgress(int done, int all, const QString &file);
    void showEnd(const QString &words);
    void restyle();

    const Theme &m_theme;
    ElidedLabel *m_words;
    ProgressBar *m_bar;
    QToolButton *m_cancel, *m_open, *m_dismiss;
    QString m_folder;
};

} // namespace lockstep::ui
