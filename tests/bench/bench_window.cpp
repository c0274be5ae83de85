// SPDX-License-Identifier: MIT
// How long a step's end takes to its point on the screen: the real window and programs, Start pressed as a person would.
//   bench_window RECIPE PAINTED-POINTS
// Prints one JSON object: wall clock of the first paint with a live point, and for each point of the loss curve the time
// from the end of its window of steps to the end of the repaint that first showed it; the same for each single step, whose
// end is read off between two windows' ends. One clock: ranks and window are on one machine.
#include <QApplication>
#include <QCheckBox>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPointer>
#include <QPushButton>
#include <QTest>
#include <QTimer>

#include <cstdio>
#include <map>

#include "app/ui/charts/line_chart.h"
#include "app/ui/pages/live/live_page.h"
#include "app/ui/pages/plan/plan_page.h"
#include "app/ui/shell/main_window.h"
#include "app/ui/shell/workspace.h"
#include "app/ui/theme/theme.h"
#include "base/machine_facts.h"
#include "ipc/clock.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

/// Sees every repaint of the loss chart and what was new in it.
class PaintWatch : public QObject {
public:
    PaintWatch(Workspace &workspace, LineChart &chart) : m_workspace(workspace), m_chart(chart) {
        chart.viewport()->installEventFilter(this);
    }

    [[nodiscard]] qsizetype points() const { return m_windowMs.size(); }

    [[nodiscard]] QJsonObject result() const {
        return {{QStringLiteral("first_point_wall_us"), double(m_firstPaintUs)},
                {QStringLiteral("window_ms"), m_windowMs},
                {QStringLiteral("step_ms"), m_stepMs}};
    }

protected:
    bool eventFilter(QObject *watched, QEvent *event) override {
        // The pixels are on their way to the screen when the paint event has returned and the loop turns again.
        if (event->type() == QEvent::Paint)
            QTimer::singleShot(0, this, &PaintWatch::painted);
        return QObject::eventFilter(watched, event);
    }

private:
    void painted() {
        const std::int64_t now = SystemClock().wallUs();
        for (const LineData &line : m_chart.lines())
            for (int i = 0; i < m_workspace.runs().count() && line.size() > 0; ++i)
                if (m_workspace.runs().at(i)->runId() == line.key)
                    take(m_workspace.runs().at(i)->losses().all().points(), m_seen[line.key], line.size(), now);
    }

    void take(const std::vector<core::LossPoint> &points, std::size_t &seen, qsizetype drawn, std::int64_t now) {
        const std::size_t end = std::min(points.size(), std::size_t(drawn));
        for (; seen < end; ++seen) {
            if (m_firstPaintUs == 0)
                m_firstPaintUs = now;
            m_windowMs.append(double(now - points[seen].wallUs) / 1000);
            if (seen > 0)
                takeSteps(points[seen - 1], points[seen], now);
        }
    }

    /// Steps are spread over their window's training time: between two epochs the ranks evaluate, and no step ends there.
    void takeSteps(const core::LossPoint &before, const core::LossPoint &last, std::int64_t now) {
        const auto count = last.step - before.step;
        const double trainedMs = (last.runS - before.runS) * 1000;
        for (std::int64_t step = 1; step <= count; ++step)
            m_stepMs.append(double(now - last.wallUs) / 1000 + trainedMs * double(count - step) / double(count));
    }

    Workspace &m_workspace;
    LineChart &m_chart;
    std::map<QString, std::size_t> m_seen;
    std::int64_t m_firstPaintUs = 0;
    QJsonArray m_windowMs, m_stepMs;
};

int complain(const QString &sentence) {
    std::fprintf(stderr, "bench_window: %s\n", qPrintable(sentence));
    return 1;
}

} // namespace

int main(int argc, char **argv) {
    QApplication application(argc, argv);
    const QStringList arguments = QApplication::arguments();
    if (arguments.size() != 3 || arguments[2].toInt() < 1)
        return complain(QStringLiteral("give a recipe's name and how many points to wait for")) + 1;
    Theme theme(ThemeMode::Light);
    Workspace workspace;
    MainWindow window(theme, workspace, core::localMachineFacts());
    QString failure;
    QObject::connect(&workspace, &Workspace::failed, &window, [&failure](const QString &why) { failure = why; });
    if (!window.planPage()->choose(arguments[1]))
        return complain(QStringLiteral("no recipe is called %1").arg(arguments[1]));
    window.planPage()->quickBox()->setChecked(true);
    window.show();
    if (!QTest::qWaitForWindowExposed(&window))
        return complain(QStringLiteral("the window did not appear"));
    PaintWatch watch(workspace, *window.livePage()->lossChart());
    QTest::mouseClick(window.planPage()->startButton(), Qt::LeftButton);
    const auto over = [&workspace] { return workspace.isOpen() && workspace.complete(); };
    while (watch.points() < arguments[2].toInt() && failure.isEmpty() && !over())
        QTest::qWait(20);
    const bool running = workspace.isOpen() && !workspace.complete();
    if (running) {
        workspace.control().stop();
        (void)QTest::qWaitFor([&workspace] { return workspace.complete(); }, 30'000);
    }
    if (!failure.isEmpty())
        return complain(failure);
    std::printf("%s\n", QJsonDocument(watch.result()).toJson(QJsonDocument::Compact).constData());
    return 0;
}
