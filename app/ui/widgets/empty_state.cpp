#include "app/ui/widgets/empty_state.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/ui/theme/theme.h"
#include "app/ui/widgets/card.h"

namespace lockstep::ui {

EmptyState::EmptyState(const Theme &theme, const QString &icon, const QString &title, const QString &text,
                       const QString &button, QWidget *parent)
    : QWidget(parent), m_theme(theme), m_icon(icon), m_picture(new QLabel(this)) {
    auto *layout = new QVBoxLayout(this);
    layout->setSpacing(grid);
    layout->addStretch(2);
    layout->addWidget(m_picture, 0, Qt::AlignHCenter);
    layout->addSpacing(grid);
    layout->addWidget(makeLabel(title, "title", this), 0, Qt::AlignHCenter);
    auto *words = makeLabel(text, "secondary", this);
    words->setWordWrap(true);
    words->setAlignment(Qt::AlignHCenter);
    words->setFixedWidth(60 * grid);
    words->setMinimumHeight(words->heightForWidth(60 * grid)); // a centred item would get one line only
    layout->addWidget(words, 0, Qt::AlignHCenter);
    layout->addSpacing(grid);
    auto *next = new QPushButton(button, this);
    next->setMinimumWidth(200);
    connect(next, &QPushButton::clicked, this, &EmptyState::clicked);
    layout->addWidget(next, 0, Qt::AlignHCenter);
    layout->addStretch(3);
    restyle();
    connect(&m_theme, &Theme::changed, this, &EmptyState::restyle);
}

void EmptyState::restyle() {
    m_picture->setPixmap(m_theme.icon(m_icon, m_theme.palette().textMuted).pixmap(48, 48));
}

} // namespace lockstep::ui
