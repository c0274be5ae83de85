// SPDX-License-Identifier: MIT
#include <QApplication>

#include <clocale>
#include <cstdio>

#include "app/ui/app.h"
#include "ipc/descriptor_limit.h"
#include "ipc/logging.h"
#include "ipc/out_of_memory.h"
#include "ipc/socket_folder.h"

using namespace lockstep;

namespace {

bool hasDisplay() {
    return !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") ||
           !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM");
}

} // namespace

int main(int argc, char **argv) {
    endWhenOutOfMemory("lockstep");
    raiseDescriptorLimit();
    QStringList arguments;
    for (int i = 0; i < argc; ++i)
        arguments.append(QString::fromLocal8Bit(argv[i]));
    const auto options = ui::parseAppOptions(arguments);
    if (!options) {
        std::fprintf(stderr, "lockstep: %s\n", options.error().message().c_str());
        return 2;
    }
    if (options->version) {
        std::printf("lockstep %s\n", LOCKSTEP_VERSION);
        return 0;
    }
    if (options->offscreen() || options->help)
        qputenv("QT_QPA_PLATFORM", "offscreen");
    else if (!hasDisplay()) {
        std::fprintf(stderr, "lockstep: no display; set DISPLAY, or use `lockstepctl run` in the terminal\n");
        return 1;
    }
    QApplication::setDesktopFileName(QStringLiteral("lockstep"));
    const SocketFolderLeaver leaver;
    QApplication application(argc, argv);
    std::setlocale(LC_NUMERIC, "C"); // Qt takes the person's, by which strtold() reads no 0.5
    QApplication::setApplicationName(QStringLiteral("lockstep"));
    QApplication::setApplicationDisplayName(QStringLiteral("Lockstep"));
    QApplication::setApplicationVersion(QStringLiteral(LOCKSTEP_VERSION));
    if (options->help) {
        std::printf("%s", qPrintable(ui::appHelp()));
        return 0;
    }
    LoggingOptions logging;
    logging.program = "lockstep";
    logging.level = LogLevel::Warning;
    setUpLogging(logging);
    return ui::runApp(*options);
}
