// SPDX-License-Identifier: MIT
#include "app/ui/widgets/wheel_guard.h"

#include <QAbstractScrollArea>
#include <QAbstractSpinBox>
#include <QApplication>
#include <QComboBox>
#include <QScrollBar>
#include <QSlider>
#include <QWheelEvent>

namespace lockstep::ui {
namespace {

bool isChoice(const QObject *watched) {
    return qobject_cast<const QComboBox *>(watched) || qobject_cast<const QSlider *>(watched) ||
           qobject_cast<const QAbstractSpinBox *>(watched);
}

/// Of a table as high as its rows: nothing in it can go up or down.
class WheelLeft : public QObject {
public:
    using QObject::QObject;
    bool eventFilter(QObject *, QEvent *event) override {
        if (event->type() != QEvent::Wheel)
            return false;
        const QPoint turned = static_cast<QWheelEvent *>(event)->angleDelta();
        if (std::abs(turned.x()) > std::abs(turned.y()))
            return false;
        event->ignore();
        return true;
    }
};

} // namespace

WheelGuard::WheelGuard(QObject *parent) : QObject(parent) {
    qApp->installEventFilter(this);
}

bool WheelGuard::eventFilter(QObject *watched, QEvent *event) {
    if ((event->type() != QEvent::Wheel && event->type() != QEvent::Polish) || !isChoice(watched))
        return false;
    auto *choice = static_cast<QWidget *>(watched);
    if (event->type() == QEvent::Polish && choice->focusPolicy() == Qt::WheelFocus)
        choice->setFocusPolicy(Qt::StrongFocus); // else the wheel itself would give it the focus
    if (event->type() == QEvent::Polish || choice->hasFocus())
        return false;
    event->ignore(); // its parents get it
    return true;
}

void leaveWheelToPage(QAbstractScrollArea *area) {
    const QString name = QStringLiteral("wheelLeft");
    if (area->findChild<QObject *>(name, Qt::FindDirectChildrenOnly))
        return;
    auto *left = new WheelLeft(area);
    left->setObjectName(name);
    for (QObject *part : std::initializer_list<QObject *>{area, area->viewport(), area->horizontalScrollBar()})
        part->installEventFilter(left);
}

} // namespace lockstep::ui

#include "moc_wheel_guard.cpp"
