// SPDX-License-Identifier: MIT
#include "app/ui/widgets/focus_ring.h"

#include <QAbstractScrollArea>
#include <QApplication>
#include <QMenu>
#include <QPainter>
#include <QSplitter>

#include "app/ui/theme/theme.h"

namespace lockstep::ui {
namespace {

/// The widget that a frame can be laid over so that it scrolls and is cut off as the target does: the content of the scroll area
/// that the target is in, else its window. A splitter would make the frame one of its panes: its area's viewport instead.
QWidget *groundOf(QWidget *target) {
    QWidget *at = target->parentWidget();
    while (at && !at->isWindow()) {
        auto *area =
            at->parentWidget() ? qobject_cast<QAbstractScrollArea *>(at->parentWidget()->parentWidget()) : nullptr;
        if (area && at->parentWidget() == area->viewport())
            return qobject_cast<QSplitter *>(at) ? area->viewport() : at;
        at = at->parentWidget();
    }
    return at;
}

bool wantsRing(const QWidget *target) {
    return target && target->focusPolicy() != Qt::NoFocus && !target->isWindow() &&
           !qobject_cast<const QMenu *>(target) &&
           !target->window()->inherits("QComboBoxPrivateContainer"); // their current row shows it
}

} // namespace

/// Lies over the target, and lets everything through.
class FocusRing::Frame : public QWidget {
public:
    Frame(const Theme &theme, QWidget *target, QWidget *ground) : QWidget(ground), m_theme(theme), m_target(target) {
        setAttribute(Qt::WA_TransparentForMouseEvents);
        setAttribute(Qt::WA_NoSystemBackground);
        setFocusPolicy(Qt::NoFocus);
        for (QWidget *at = target; at && at != ground; at = at->parentWidget())
            at->installEventFilter(this);
        connect(&m_theme, &Theme::changed, this, [this] { update(); });
        follow();
    }

protected:
    bool eventFilter(QObject *, QEvent *event) override {
        switch (event->type()) {
        case QEvent::Move:
        case QEvent::Resize:
        case QEvent::Show:
        case QEvent::Hide:
        case QEvent::ZOrderChange:
            follow();
            break;
        default:
            break;
        }
        return false;
    }
    void paintEvent(QPaintEvent *) override {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(m_theme.palette().accent, wide));
        constexpr double in = wide / 2.0;
        painter.drawRoundedRect(QRectF(rect()).adjusted(in, in, -in, -in), 7, 7);
    }

private:
    void follow() {
        if (!m_target)
            return;
        // Around it with a hair of air: charts paint up to their edges. What fills its ground has the ring just inside.
        constexpr int air = wide + 1;
        const QRect own(m_target->mapTo(parentWidget(), QPoint()), m_target->size());
        setGeometry(own.adjusted(-air, -air, air, air) & parentWidget()->rect());
        setVisible(m_target->isVisible());
        raise();
    }

    const Theme &m_theme;
    QPointer<QWidget> m_target;
};

FocusRing::FocusRing(const Theme &theme, QObject *parent) : QObject(parent), m_theme(theme) {
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget *, QWidget *now) { moveTo(now); });
    moveTo(QApplication::focusWidget());
}

FocusRing::~FocusRing() {
    delete m_frame;
}

void FocusRing::moveTo(QWidget *target) {
    m_target = wantsRing(target) ? target : nullptr;
    delete m_frame;
    if (QWidget *ground = m_target ? groundOf(m_target) : nullptr)
        m_frame = new Frame(m_theme, m_target, ground);
}

} // namespace lockstep::ui

#include "moc_focus_ring.cpp"
