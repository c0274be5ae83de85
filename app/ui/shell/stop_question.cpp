// SPDX-License-Identifier: MIT
#include "app/ui/shell/stop_question.h"

#include <QMessageBox>
#include <QPushButton>

#include "app/ui/shell/queue_control.h"
#include "app/ui/shell/request_words.h"
#include "app/ui/shell/strip_state.h"
#include "queue/experiment_follower.h"

namespace lockstep::ui {

void stopOrAsk(QWidget *parent, StripState &strip, QueueControl &control) {
    const core::ExperimentFollower *follower = strip.queue().follower();
    const int waiting = follower ? int(follower->experiment().queued().size()) : 0;
    if (waiting == 0 || strip.showsLab())
        return control.stop();
    const bool runs = !follower->experiment().currents().empty();
    const QString many = waiting == 1 ? QObject::tr("1 run") : QObject::tr("%1 runs").arg(waiting);
    auto *box = new QMessageBox(parent);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setWindowTitle(QObject::tr("Stop"));
    box->setText(runs ? QObject::tr("Stop %1 and drop what is queued behind it (%2)?").arg(currentsOf(*follower), many)
                      : QObject::tr("Drop what is queued of %1 (%2)?").arg(currentsOf(*follower), many));
    box->setInformativeText(QObject::tr("Dropped runs can be brought back from the strip on top."));
    const auto add = [box](const QString &words, QMessageBox::ButtonRole role, Qt::Key key, const QString &tip) {
        QPushButton *button = box->addButton(words, role);
        button->setShortcut(QKeySequence(Qt::ALT | key));
        button->setToolTip(tip + QStringLiteral(" (Alt+%1)").arg(QChar(key)));
        return button;
    };
    QPushButton *all = add(runs ? QObject::tr("Stop and drop %1").arg(many) : QObject::tr("Drop %1").arg(many),
                           QMessageBox::DestructiveRole, Qt::Key_D, QObject::tr("Nothing of this experiment goes on"));
    QPushButton *one = runs ? add(QObject::tr("Stop the current run"), QMessageBox::AcceptRole, Qt::Key_S,
                                  QObject::tr("The queue goes on with the next run"))
                            : nullptr;
    QPushButton *none =
        add(QObject::tr("Cancel"), QMessageBox::RejectRole, Qt::Key_C, QObject::tr("Nothing is stopped"));
    box->setDefaultButton(none);
    box->setEscapeButton(none);
    const QString id = strip.id();
    QObject::connect(box, &QMessageBox::buttonClicked, &control, [&strip, &control, id, all, one](QAbstractButton *by) {
        if (strip.id() != id) // it ended meanwhile, and another one runs
            return;
        if (by == all)
            control.stop();
        else if (one && by == one)
            control.skipCurrents();
    });
    box->open();
}

} // namespace lockstep::ui
