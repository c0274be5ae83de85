// SPDX-License-Identifier: MIT
#include "app/ui/app.h"

#include <QApplication>
#include <QCheckBox>
#include <QElapsedTimer>
#include <QFile>
#include <QPixmap>
#include <QThread>

#include <cstdio>

#include "app/ui/pages/lab/lab_forecast.h"
#include "app/ui/pages/lab/lab_page.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/nodes/nodes_page.h"
#include "app/ui/pages/plan/plan_page.h"
#include "app/ui/pages/runs/runs_page.h"
#include "app/ui/pages/shared/device_picker.h"
#include "app/ui/shell/exporter.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "base/machine_facts.h"
#include "ipc/printable.h"
#include "ipc/run_folder.h"

namespace lockstep::ui {
namespace {

constexpr int settleLimitMs = 60'000, probeLimitMs = 5000, doctorLimitMs = 120'000;

int complain(const Error &error) {
    std::fprintf(stderr, "lockstep: %s\n", printable(error.message()).c_str());
    return exitCodeOf(error);
}

/// Reads everything that is on disk; false when it takes too long.
bool settle(const Workspace &workspace) {
    QElapsedTimer timer;
    timer.start();
    do {
        QApplication::processEvents(QEventLoop::AllEvents, 50);
        if (workspace.settled())
            return true;
        QThread::msleep(5);
    } while (timer.elapsed() < settleLimitMs);
    return false;
}

Page pageFrom(const QString &name, Page otherwise) {
    const auto at = pageNames().indexOf(name);
    return at < 0 ? otherwise : pageTable[std::size_t(at)].page;
}

int exportAndLeave(const AppOptions &options, MainWindow &window, Workspace &workspace) {
    window.resize(options.size);
    window.livePage()->drawNow();
    const auto written = exportAll(workspace, window.charts(), options.exportTo, options.formats);
    if (!written)
        return complain(written.error());
    for (const QString &path : *written)
        std::printf("%s\n", qPrintable(path));
    return 0;
}

QElapsedTimer started() {
    QElapsedTimer timer;
    timer.start();
    return timer;
}

int screenshotAndLeave(const AppOptions &options, MainWindow &window) {
    window.resize(options.size);
    window.show();
    QApplication::processEvents();
    window.setFocus(); // so that the picture does not depend on whether the window became active
    window.livePage()->drawNow();
    if (options.doctor)
        window.nodesPage()->examine();
    const int limitMs = options.doctor ? doctorLimitMs : probeLimitMs;
    for (QElapsedTimer timer = started(); (window.planPage()->devicePicker()->probing() ||
                                           window.nodesPage()->waiting() || window.labPage()->forecast()->reading()) &&
                                          timer.elapsed() < limitMs;)
        QApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 50);
    // Layouts settle in two turns: the first lays out, the second draws what depends on it.
    for (int turn = 0; turn < 3; ++turn)
        QApplication::processEvents(QEventLoop::AllEvents, 50);
    const QImage picture = window.grab().toImage();
    if (picture.isNull())
        return complain(Error::failed("the memory ran out: a picture of " + std::to_string(options.size.width()) + "x" +
                                          std::to_string(options.size.height()) + " can't be drawn",
                                      "choose a smaller --size"));
    if (!picture.save(options.screenshot))
        return complain(
            Error::failed("can't write " + options.screenshot.toStdString(), "choose another file, ending in .png"));
    std::printf("%s\n", qPrintable(options.screenshot));
    return 0;
}

} // namespace

int runApp(const AppOptions &options) {
    Theme theme(options.dark ? ThemeMode::Dark : options.light ? ThemeMode::Light : ThemeMode::System);
    Workspace workspace;
    workspace.control().setMayControl(!options.offscreen());
    if (!options.offscreen())
        workspace.runHistory().refresh(); // without waiting: thousands may be new
    else if (const auto fetched = workspace.history().refresh(); !fetched)
        return complain(fetched.error());
    MainWindow window(theme, workspace, core::localMachineFacts());
    const bool attached = options.open.isEmpty() && workspace.attachToRunning();
    if (!options.open.isEmpty()) {
        if (const auto opened = workspace.open(options.open); !opened)
            return complain(opened.error());
        workspace.lookForRunning(); // for the strip; the pages show what was requested
    }
    if (!options.recipe.isEmpty())
        if (const auto chosen = window.planPage()->chooseOrOpen(options.recipe); !chosen)
            return complain(chosen.error());
    window.planPage()->quickBox()->setChecked(options.quick);
    const bool over = workspace.experiment() && workspace.experiment()->over();
    const Page first = !workspace.isOpen() ? Page::Plan : attached || !over ? Page::Live : Page::Verdict;
    window.showPage(pageFrom(options.page, first));
    if (options.offscreen()) {
        if (workspace.isOpen() && !settle(workspace))
            return complain(Error::failed("the runs couldn't be read within a minute",
                                          "try again, or print them with lockstepctl show"));
        return !options.exportTo.isEmpty() ? exportAndLeave(options, window, workspace)
                                           : screenshotAndLeave(options, window);
    }
    window.restore(QString::fromStdString(dataHome()) + QStringLiteral("/window.ini"));
    if (options.dark || options.light)
        theme.setMode(options.dark ? ThemeMode::Dark : ThemeMode::Light);
    window.show();
    return QApplication::exec();
}

} // namespace lockstep::ui
