// SPDX-License-Identifier: MIT
#pragma once
#include <QLabel>

namespace lockstep::ui {

/// One line of text that yields its room to its neighbours: text that doesn't fit ends in "…", a run's name has it in its middle
/// (elidedName()), and the tooltip has all of it.
class ElidedLabel : public QLabel {
    Q_OBJECT
public:
    enum class Of { Sentence, Name };
    /// `role` as for makeLabel(). It keeps `leastWidth` of what it needs.
    ElidedLabel(const char *role, int leastWidth, QWidget *parent, Of of = Of::Sentence);
    [[nodiscard]] QString shownText() const; ///< as it fits now
    void setLeastWidth(int px);
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    bool event(QEvent *event) override;
    void paintEvent(QPaintEvent *event) override;

private:
    [[nodiscard]] bool isElided() const;
    int m_leastWidth;
    Of m_of;
};

} // namespace lockstep::ui
