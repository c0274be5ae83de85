// SPDX-License-Identifier: MIT
#pragma once
#include <QFrame>

class QLabel;

namespace lockstep::ui {
class Workspace;

/// Shown above a page while what is open names a machine and a program there that this user never has: asks before anything
/// is started there. Somebody else's folder may have been put among one's own.
class ConnectBanner : public QFrame {
    Q_OBJECT
public:
    explicit ConnectBanner(Workspace &workspace, QWidget *parent = nullptr);
    [[nodiscard]] QString text() const;

Q_SIGNALS:
    void failed(const QString &sentence);

private:
    void refresh();

    Workspace &m_workspace;
    QLabel *m_words;
};

} // namespace lockstep::ui
