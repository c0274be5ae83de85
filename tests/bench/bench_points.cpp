// SPDX-License-Identifier: MIT
// How fast a long run is opened: a log of steps frames as one rank writes them, read by the real window through the real
// way (file → check → decode → RunStore → pictures).
//   bench_points POINTS
// A point is one value at one step, as TensorBoard counts scalars: a steps frame carries 22 of them (four of the loss, sum
// and longest of nine phases). Prints one JSON object.
#include <QApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <time.h>
#include <unistd.h>

#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "base/machine_facts.h"
#include "ipc/clock.h"
#include "ipc/file_system.h"
#include "ipc/log.h"
#include "ipc/run_folder.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

constexpr std::int64_t valuesAFrame = 22, stepsAFrame = 25, wallUs0 = 1'767'323'045'000'000;
constexpr const char *run = "20260102T030405Z-0000be9c";

double nowS() {
    return double(SystemClock().monoNs()) / 1e9;
}

/// Of this process's threads.
double cpuS() {
    timespec spent{};
    (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return double(spent.tv_sec) + double(spent.tv_nsec) / 1e9;
}

double residentBytes() {
    std::ifstream statm("/proc/self/statm");
    double all = 0, resident = 0;
    statm >> all >> resident;
    return resident * double(::sysconf(_SC_PAGESIZE));
}

Frame stepsFrame(std::int64_t number) {
    Frame frame;
    frame.rank = 0;
    frame.rseq = std::uint64_t(number);
    frame.monoNs = 1'000'000'000 + number * 100'000'000;
    frame.wallUs = wallUs0 + number * 100'000;
    const double loss = 0.2 + 2 * std::exp(-double(number) / 5e4) + 0.05 * std::sin(double(number));
    StepsFrame steps;
    steps.epoch = int(number / 1'000) + 1;
    steps.firstStep = number * stepsAFrame;
    steps.lastStep = steps.firstStep + stepsAFrame - 1;
    steps.count = stepsAFrame;
    steps.samples = stepsAFrame * 64;
    steps.loss = LossWindow{loss * 0.9, loss, loss * 1.1, loss * 1.01};
    for (const char *phase : {"load", "h2d", "forward", "backward", "exposed", "optimizer", "other", "comm", "wait"})
        steps.phases[phase] = {0.01 + 0.001 * std::cos(double(number)), 0.0012345678};
    frame.body = steps;
    return frame;
}

bool writeRun(std::int64_t frames) {
    const RunFolder folder = runFolder(run);
    RunRecord record;
    record.run = run;
    record.name = "long";
    record.config = RunConfig();
    record.config->devices = {"0"};
    record.config->epochs = int(frames / 1'000) + 1;
    record.deviceNames = {"cpu:0"};
    record.startWallUs = wallUs0;
    RunResult result;
    result.run = run;
    result.state = RunState::Done;
    result.exitCode = 0;
    result.logLines = std::uint64_t(frames) + 2;
    if (!realFileSystem().makeFolders(folder.path) ||
        !realFileSystem().writeAtomically(folder.config(), toJson(record)) ||
        !realFileSystem().writeAtomically(folder.result(), toJson(result)) ||
        !realFileSystem().writeAtomically(folder.lock(0), ""))
        return false;
    std::ofstream log(folder.log(0), std::ios::binary);
    std::uint64_t seq = 0;
    const auto write = [&](const Frame &frame) { log << sealLine(encode(frame), 0, seq++) << '\n'; };
    Frame header;
    header.wallUs = wallUs0;
    header.body = HeaderFrame{logFormat, run, "bench"};
    write(header);
    StateFrame init;
    init.worldSize = 1;
    init.epochs = record.config->epochs;
    init.stepsPerEpoch = 1'000 * stepsAFrame;
    init.totalSteps = frames * stepsAFrame;
    Frame first;
    first.rank = 0;
    first.wallUs = wallUs0;
    first.body = init;
    write(first);
    for (std::int64_t i = 0; i < frames; ++i)
        write(stepsFrame(i));
    return bool(log.flush());
}

/// When the loss chart first painted a point.
class FirstPicture : public QObject {
public:
    explicit FirstPicture(LineChart &chart) : m_chart(chart) { chart.viewport()->installEventFilter(this); }
    double at = 0;

protected:
    bool eventFilter(QObject *, QEvent *event) override {
        if (event->type() == QEvent::Paint && at == 0 && m_chart.drawnPoints() > 0)
            QTimer::singleShot(0, this, [this] { at = at == 0 ? nowS() : at; });
        return false;
    }

private:
    LineChart &m_chart;
};

int complain(const char *sentence) {
    std::fprintf(stderr, "bench_points: %s\n", sentence);
    return 1;
}

} // namespace

int main(int argc, char **argv) {
    QTemporaryDir home;
    qputenv("LOCKSTEP_HOME", home.path().toUtf8());
    QApplication application(argc, argv);
    const std::int64_t points = argc == 2 ? QString::fromLocal8Bit(argv[1]).toLongLong() : 0;
    if (points < valuesAFrame)
        return complain("give how many points") + 1;
    const std::int64_t frames = points / valuesAFrame;
    if (!writeRun(frames))
        return complain("the log could not be written");
    Theme theme(ThemeMode::Light);
    Workspace workspace;
    MainWindow window(theme, workspace, core::localMachineFacts());
    window.showPage(Page::Live);
    window.show();
    if (!QTest::qWaitForWindowExposed(&window))
        return complain("the window did not appear");
    QTest::qWait(500);
    FirstPicture first(*window.livePage()->lossChart());
    const double before = residentBytes(), begun = nowS(), cpuBefore = cpuS();
    if (!workspace.openRun(QString::fromLatin1(run)))
        return complain("the run could not be opened");
    while (!workspace.complete() && nowS() - begun < 300)
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 50);
    const double opened = nowS() - begun, spent = cpuS() - cpuBefore;
    QTest::qWait(500);
    const core::RunStore *store = workspace.runs().at(0);
    if (!workspace.complete() || store->log().undecodable > 0 || store->log().frames != std::uint64_t(frames) + 2)
        return complain("the log was not read whole");
    const QJsonObject result{
        {QStringLiteral("points"), double(frames * valuesAFrame)},
        {QStringLiteral("frames"), double(frames)},
        {QStringLiteral("log_bytes"), double(QFileInfo(QString::fromStdString(runFolder(run).log(0))).size())},
        {QStringLiteral("open_s"), opened},
        {QStringLiteral("open_cpu_s"), spent},
        {QStringLiteral("first_picture_s"), first.at - begun},
        {QStringLiteral("resident_growth_bytes"), residentBytes() - before},
        {QStringLiteral("curve_points"), double(store->losses().all().points().size())}};
    std::printf("%s\n", QJsonDocument(result).toJson(QJsonDocument::Compact).constData());
    return 0;
}
