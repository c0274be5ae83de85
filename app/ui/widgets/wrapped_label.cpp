// SPDX-License-Identifier: MIT
#include "app/ui/widgets/wrapped_label.h"

#include <algorithm>

namespace lockstep::ui {

WrappedLabel::WrappedLabel(const char *role, QWidget *parent) : QLabel(parent) {
    setProperty("role", role);
    setWordWrap(true);
    QSizePolicy policy = sizePolicy();
    policy.setHeightForWidth(false);
    setSizePolicy(policy);
}

void WrappedLabel::setWords(const QString &words) {
    setText(words);
    fit();
}

void WrappedLabel::fit() {
    setMinimumHeight(0);                                    // what a label asks for is never less than its minimum
    setMinimumHeight(std::max(0, heightForWidth(width()))); // -1 while there are no words
}

void WrappedLabel::resizeEvent(QResizeEvent *event) {
    QLabel::resizeEvent(event);
    fit();
}

} // namespace lockstep::ui

#include "moc_wrapped_label.cpp"
