#pragma once
#include <QWidget>

class QLabel;
class QPushButton;

namespace lockstep::ui {
class Theme;

/// What a page shows while it has nothing to show: what is missing, the next step, and a button that takes it.
class EmptyState : public QWidget {
    Q_OBJECT
public:
    EmptyState(const Theme &theme, const QString &icon, const QString &title, const QString &text,
               const QString &button, QWidget *parent = nullptr);

Q_SIGNALS:
    void clicked();

private:
    const Theme &m_theme;
    QString m_icon;
    QLabel *m_picture;
    void restyle();
};

} // namespace lockstep::ui
