// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>
#include <QPointer>
#include <QWidget>

namespace lockstep::ui {
class Theme;

/// While it lives, the widget with the keyboard focus has a ring of two pixels, in every window of the application.
class FocusRing : public QObject {
    Q_OBJECT
public:
    FocusRing(const Theme &theme, QObject *parent);
    ~FocusRing() override;
    /// Around what it is now; null: nothing has the focus, or what has it shows that itself.
    [[nodiscard]] const QWidget *target() const { return m_target; }

    static constexpr int wide = 2; ///< pixels

private:
    class Frame;
    void moveTo(QWidget *target);

    const Theme &m_theme;
    QPointer<QWidget> m_target;
    QPointer<QWidget> m_frame;
};

} // namespace lockstep::ui
