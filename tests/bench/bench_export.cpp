// SPDX-License-Identifier: MIT
// How long an export of 45 runs keeps the window: everything into a folder, in every format, as the menu does it.
//   bench_export [STEPS-PER-EPOCH]
// Prints one JSON object: the number of steps on the GUI thread, the longest one (by its file), by the wall clock and by the thread's own processor
// time (on a busy machine the former also holds the waiting for a core), and the time of the whole export.
#include <QJsonDocument>
#include <QJsonObject>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "app/ui/shell/export_job.h"
#include "app/ui/shell/export_menu.h"
#include "tests/app/window_fixture.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

double secondsOf(clockid_t clock) {
    timespec now{};
    (void)clock_gettime(clock, &now);
    return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

/// The turns of the event loop, each of which keys and repaints may wait for.
class TurnWatch : public QObject {
public:
    TurnWatch() { connect(&m_timer, &QTimer::timeout, this, &TurnWatch::turn); }
    void start() {
        m_wall = secondsOf(CLOCK_MONOTONIC);
        m_own = secondsOf(CLOCK_THREAD_CPUTIME_ID);
        m_timer.start(0);
    }
    double longestS = 0, longestOwnS = 0;
    QString step = QStringLiteral("the press"), longest; ///< what goes on, and what the longest was

private:
    void turn() {
        const double wall = secondsOf(CLOCK_MONOTONIC), own = secondsOf(CLOCK_THREAD_CPUTIME_ID);
        longestS = std::max(longestS, wall - m_wall);
        if (own - m_own > longestOwnS) {
            longestOwnS = own - m_own;
            longest = step;
        }
        m_wall = wall;
        m_own = own;
    }
    QTimer m_timer;
    double m_wall = 0, m_own = 0;
};

class Bench : uitest::WindowFixture {
public:
    QJsonObject run(int steps) {
        const auto recipe = core::recipeFromJson(uitest::gridRecipe);
        const std::string id = uitest::writeOnDisk(*recipe, {.epochs = 2, .stepsPerEpoch = steps, .windowSteps = 1});
        openWindow({1920, 1080});
        openOnLive(id);
        QTest::qWait(3000); // what Live still draws is its own
        QTemporaryDir folder;
        TurnWatch watch;
        int done = 0;
        bool over = false;
        QObject::connect(m_window->exportMenu(), &ExportMenu::began, &watch, [&](ExportJob *job) {
            QObject::connect(job, &ExportJob::progressed, &watch, [&](int count, int, const QString &file) {
                done = std::max(done, count);
                watch.step = QStringLiteral("%1 %2").arg(count).arg(file);
            });
            QObject::connect(job, &ExportJob::finished, &watch, [&] { over = true; });
            QObject::connect(job, &ExportJob::failed, &watch, [&] { over = true; });
        });
        const double began = secondsOf(CLOCK_MONOTONIC);
        watch.start();
        m_window->exportMenu()->saveAll(folder.path());
        (void)QTest::qWaitFor([&] { return over; }, 600'000);
        const double took = secondsOf(CLOCK_MONOTONIC) - began;
        QJsonObject out{
            {QStringLiteral("points_a_run"), 2 * steps},   {QStringLiteral("steps"), done + 1},
            {QStringLiteral("longest_s"), watch.longestS}, {QStringLiteral("longest_own_s"), watch.longestOwnS},
            {QStringLiteral("longest"), watch.longest},    {QStringLiteral("whole_s"), took}};
        closeWindow();
        return out;
    }
};

} // namespace

int main(int argc, char **argv) {
    const uitest::Home home;
    QApplication application(argc, argv);
    const QStringList arguments = QApplication::arguments();
    const int steps = arguments.size() > 1 ? arguments[1].toInt() : 5000;
    if (steps < 1) {
        std::fprintf(stderr, "bench_export: give a number of steps\n");
        return 2;
    }
    std::printf("%s\n", QJsonDocument(Bench().run(steps)).toJson(QJsonDocument::Compact).constData());
    return 0;
}
