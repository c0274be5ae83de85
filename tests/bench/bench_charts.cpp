// SPDX-License-Identifier: MIT
// Whether 36 charts of 4 lines with 100,000 points each stay alive while all of them grow ten times a second:
//   bench_charts [SECONDS [CHARTS [own|qt]]]
// own: LineChart as the window has it; qt: the same points in Qt Charts' own QLineSeries, replaced and repainted whole. All charts stand in one window and share a crosshair that moves with every frame, as under a pointer that never rests.
// Prints one JSON object: frames a second in each second, how long an input waited until it was handled and until a frame
// had shown it, and what the parts of an update cost: own curves against a QLineSeries' replace and repaint.
#include <QApplication>
#include <QChart>
#include <QElapsedTimer>
#include <QGraphicsLayout>
#include <QGridLayout>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineSeries>
#include <QMouseEvent>
#include <QPainter>
#include <QTest>
#include <QTimer>
#include <QValueAxis>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <random>
#include <thread>
#include <time.h>

#include "app/ui/charts/line_chart.h"
#include "app/ui/theme/theme.h"
#include "ipc/clock.h"

using namespace lockstep;
using namespace lockstep::ui;

namespace {

constexpr int linesAChart = 4, pointsALine = 100'000, updateMs = 100;

/// What a window without curves of its own would have: four QLineSeries on two value axes, and a line as crosshair.
class SeriesChart : public QChartView {
public:
    explicit SeriesChart(QWidget *parent) : QChartView(new QChart, parent) {
        setRenderHint(QPainter::Antialiasing);
        setFrameShape(QFrame::NoFrame);
        chart()->legend()->hide();
        chart()->layout()->setContentsMargins(0, 0, 0, 0);
        chart()->addAxis(&x, Qt::AlignBottom);
        chart()->addAxis(&y, Qt::AlignLeft);
        y.setRange(0, 3);
    }
    void show(const QList<LineData> &lines) {
        while (series.size() < lines.size()) {
            series.append(new QLineSeries(this));
            series.last()->setPen(QPen(lines[series.size() - 1].color, 2));
            chart()->addSeries(series.last());
            series.last()->attachAxis(&x);
            series.last()->attachAxis(&y);
        }
        x.setRange(0, lines.first().curve->last().x());
        for (qsizetype i = 0; i < lines.size(); ++i)
            series[i]->replace(
                lines[i].curve->part(0, x.max(), std::max(100, int(chart()->plotArea().width()))).points);
    }
    void drawForeground(QPainter *painter, const QRectF &) override {
        const QRectF area = chart()->plotArea();
        const double at = area.left() + crosshair / std::max(1.0, x.max()) * area.width();
        painter->drawLine(QPointF(at, area.top()), QPointF(at, area.bottom()));
    }
    QValueAxis x, y;
    QList<QLineSeries *> series;
    double crosshair = 0;
};

struct Panel {
    LineChart *chart = nullptr;
    SeriesChart *series = nullptr; ///< instead of `chart`
    QList<LineData> lines;
    std::vector<std::shared_ptr<core::Curve>> curves;

    [[nodiscard]] QChartView *view() const { return chart ? static_cast<QChartView *>(chart) : series; }
    void update() {
        if (chart)
            chart->setLines(lines);
        else
            series->show(lines);
    }
    void point(double x) {
        if (chart)
            return chart->setCrosshair(x);
        series->crosshair = x;
        series->viewport()->update();
    }
};

/// Processor seconds of this process.
double cpuS() {
    timespec spent{};
    (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return double(spent.tv_sec) + double(spent.tv_nsec) / 1e9;
}

double nowMs() {
    return double(SystemClock().monoNs()) / 1e6;
}

double noise(std::mt19937 &random, int i) {
    return 0.3 + 2 * std::exp(-i / 20'000.0) + 0.2 * std::uniform_real_distribution(-1.0, 1.0)(random);
}

Panel makePanel(const Theme &theme, QWidget *parent, int number, std::mt19937 &random, bool own = true) {
    Panel out;
    if (own) {
        out.chart = new LineChart(theme, QStringLiteral("chart %1").arg(number), parent);
        out.chart->setAxisTitles(QStringLiteral("step"), QStringLiteral("loss"));
        out.chart->setWholeX(true);
    } else {
        out.series = new SeriesChart(parent);
    }
    const char *const methods[] = {"baseline", "dp", "ddp", "pipeline"};
    for (int l = 0; l < linesAChart; ++l) {
        auto curve = std::make_shared<core::Curve>();
        for (int i = 0; i < pointsALine; ++i)
            curve->append(i, noise(random, i));
        LineData line;
        line.key = line.name = QLatin1String(methods[l]);
        line.color = methodColor(line.name);
        line.curve = curve;
        out.lines.append(line);
        out.curves.push_back(std::move(curve));
    }
    out.update();
    return out;
}

void grow(std::vector<Panel> &panels, std::mt19937 &random) {
    for (Panel &panel : panels) {
        for (auto &curve : panel.curves)
            curve->append(double(curve->size()), noise(random, int(curve->size())));
        panel.update();
    }
}

/// Counts the window's frames: each is one pass over everything that asked for a repaint.
class FrameWatch : public QObject {
public:
    std::vector<double> ends; ///< ms
    std::vector<double> pending, shown;

protected:
    bool eventFilter(QObject *watched, QEvent *event) override {
        if (event->type() != QEvent::UpdateRequest)
            return false;
        watched->removeEventFilter(this);
        QCoreApplication::sendEvent(watched, event);
        watched->installEventFilter(this);
        const double now = nowMs();
        ends.push_back(now);
        for (const double sent : pending)
            shown.push_back(now - sent);
        pending.clear();
        return true;
    }
};

/// A press that another thread sends at uneven times; it waits in the queue as a real one does.
class Press : public QEvent {
public:
    static constexpr Type kind = Type(User + 17);
    explicit Press(double sent) : QEvent(kind), sentMs(sent) {}
    double sentMs;
};

class PressTaker : public QObject {
public:
    PressTaker(std::vector<Panel> &panels, FrameWatch &frames) : m_panels(panels), m_frames(frames) {}
    std::vector<double> handled;

    bool event(QEvent *event) override {
        if (event->type() != Press::kind)
            return QObject::event(event);
        const Panel &panel = m_panels[m_next++ % m_panels.size()];
        QChartView *chart = panel.view();
        const QPointF at = chart->chart()->plotArea().center() + QPointF(m_next % 40, 0);
        for (const auto type : {QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) {
            QMouseEvent mouse(type, at, chart->viewport()->mapToGlobal(at), Qt::LeftButton,
                              type == QEvent::MouseButtonPress ? Qt::LeftButton : Qt::NoButton, Qt::NoModifier);
            QCoreApplication::sendEvent(chart->viewport(), &mouse);
        }
        if (panel.chart) // an input that changes what is seen
            panel.chart->zoomBy(m_next % 2 ? 0.5 : 2, panel.chart->xAt(at.x()));
        const double sent = static_cast<Press *>(event)->sentMs;
        handled.push_back(nowMs() - sent);
        m_frames.pending.push_back(sent);
        return true;
    }

private:
    std::vector<Panel> &m_panels;
    FrameWatch &m_frames;
    std::size_t m_next = 0;
};

QJsonArray array(const std::vector<double> &values) {
    QJsonArray out;
    for (const double value : values)
        out.append(value);
    return out;
}

/// Median ms of `turns` calls.
template <class What> double cost(int turns, const What &what) {
    std::vector<double> all;
    for (int i = 0; i < turns; ++i) {
        const double begun = nowMs();
        what();
        all.push_back(nowMs() - begun);
    }
    std::nth_element(all.begin(), all.begin() + turns / 2, all.end());
    return all[std::size_t(turns) / 2];
}

/// What one chart's update costs, part by part, and what the same points cost as QLineSeries.
QJsonObject profile(const Theme &theme, const QSize &size, std::mt19937 &random) {
    QJsonObject out;
    {
        QWidget window;
        window.resize(size);
        Panel panel = makePanel(theme, &window, 0, random);
        panel.chart->resize(size);
        window.show();
        (void)QTest::qWaitForWindowExposed(&window);
        QTest::qWait(50);
        out[QStringLiteral("own_decimate_ms")] = cost(50, [&] {
            for (const auto &curve : panel.curves)
                (void)curve->part(0, pointsALine, size.width());
        });
        std::vector<Panel> one{panel};
        out[QStringLiteral("own_update_ms")] = cost(50, [&] { grow(one, random); });
        QPixmap target(size);
        out[QStringLiteral("own_update_and_paint_ms")] = cost(50, [&] {
            grow(one, random);
            panel.chart->viewport()->repaint();
        });
        double at = 0;
        out[QStringLiteral("own_crosshair_and_paint_ms")] = cost(50, [&] {
            panel.chart->setCrosshair(at += 100);
            panel.chart->viewport()->repaint();
        });
    }
    QChartView view(new QChart);
    view.setRenderHint(QPainter::Antialiasing);
    view.chart()->legend()->hide();
    std::vector<QLineSeries *> series;
    std::vector<QList<QPointF>> points;
    for (int l = 0; l < linesAChart; ++l) {
        series.push_back(new QLineSeries);
        series.back()->setPen(QPen(QColor::fromHsv(90 * l, 200, 200), 2));
        view.chart()->addSeries(series.back());
        core::Curve curve;
        for (int i = 0; i < pointsALine; ++i)
            curve.append(i, noise(random, i));
        points.push_back(curve.part(0, pointsALine, size.width()).points);
    }
    view.chart()->createDefaultAxes();
    view.resize(size);
    view.show();
    (void)QTest::qWaitForWindowExposed(&view);
    QTest::qWait(50);
    const auto replace = [&] {
        for (int l = 0; l < linesAChart; ++l)
            series[std::size_t(l)]->replace(points[std::size_t(l)]);
    };
    out[QStringLiteral("qline_points_a_line")] = double(points[0].size());
    out[QStringLiteral("qline_replace_ms")] = cost(50, replace);
    out[QStringLiteral("qline_repaint_ms")] = cost(50, [&] { view.viewport()->repaint(); });
    for (QLineSeries *one : series)
        one->setPen(QPen(one->pen().color(), 1));
    out[QStringLiteral("qline_replace_thin_ms")] = cost(50, replace);
    out[QStringLiteral("qline_repaint_thin_ms")] = cost(50, [&] { view.viewport()->repaint(); });
    for (QLineSeries *one : series)
        one->clear();
    out[QStringLiteral("axes_alone_repaint_ms")] = cost(50, [&] { view.viewport()->repaint(); });
    return out;
}

} // namespace

int main(int argc, char **argv) {
    QApplication application(argc, argv);
    const QStringList arguments = QApplication::arguments();
    const int seconds = arguments.size() > 1 ? arguments[1].toInt() : 10;
    const int count = arguments.size() > 2 ? arguments[2].toInt() : 36;
    const bool own = arguments.size() < 4 || arguments[3] == QLatin1String("own");
    if (seconds < 1 || count < 1) {
        std::fprintf(stderr, "bench_charts: give seconds and charts as whole numbers above zero\n");
        return 2;
    }
    Theme theme(ThemeMode::Light);
    std::mt19937 random(1);
    QWidget window;
    window.resize(1600, 1000);
    auto *layout = new QGridLayout(&window);
    layout->setSpacing(4);
    const int columns = int(std::ceil(std::sqrt(count)));
    std::vector<Panel> panels;
    for (int i = 0; i < count; ++i) {
        panels.push_back(makePanel(theme, &window, i, random, own));
        panels.back().view()->setMinimumSize(80, 60);
        layout->addWidget(panels.back().view(), i / columns, i % columns);
    }
    window.show();
    if (!QTest::qWaitForWindowExposed(&window)) {
        std::fprintf(stderr, "bench_charts: the window did not appear\n");
        return 1;
    }
    QTest::qWait(1000);

    FrameWatch frames;
    window.installEventFilter(&frames);
    PressTaker presses(panels, frames);
    QTimer updates, pointer;
    updates.setTimerType(Qt::PreciseTimer);
    int updated = 0;
    QObject::connect(&updates, &QTimer::timeout, &window, [&] {
        grow(panels, random);
        ++updated;
    });
    double at = 0;
    QObject::connect(&pointer, &QTimer::timeout, &window, [&] {
        at = at > pointsALine ? 0 : at + 250;
        for (Panel &panel : panels)
            panel.point(at);
    });
    const double begun = nowMs(), cpuBefore = cpuS();
    updates.start(updateMs);
    pointer.start(10);
    std::atomic<bool> over = false;
    std::thread person([&] {
        std::mt19937 own(2);
        while (!over) {
            std::this_thread::sleep_for(std::chrono::milliseconds(60 + own() % 90));
            QCoreApplication::postEvent(&presses, new Press(nowMs()));
        }
    });
    QTest::qWait(seconds * 1000);
    over = true;
    person.join();
    updates.stop();
    pointer.stop();
    const double took = nowMs() - begun, spent = cpuS() - cpuBefore;
    std::vector<double> perSecond(std::size_t(took / 1000), 0);
    for (const double end : frames.ends)
        if (const auto second = std::size_t((end - begun) / 1000); second < perSecond.size())
            ++perSecond[second];
    qsizetype drawn = 0, held = 0;
    std::size_t bytes = 0;
    for (const Panel &panel : panels) {
        drawn += panel.chart ? panel.chart->drawnPoints() : panel.series->series.first()->count() * linesAChart;
        for (const auto &curve : panel.curves) {
            held += curve->size();
            bytes += curve->bytes();
        }
    }
    const QSize size = panels.front().view()->size();
    window.hide();
    const QJsonObject result{{QStringLiteral("charts"), count},
                             {QStringLiteral("chart_width"), size.width()},
                             {QStringLiteral("chart_height"), size.height()},
                             {QStringLiteral("cpu_share"), spent / (took / 1000)},
                             {QStringLiteral("updates_per_s"), updated / (took / 1000)},
                             {QStringLiteral("frames_per_s"), array(perSecond)},
                             {QStringLiteral("input_handled_ms"), array(presses.handled)},
                             {QStringLiteral("input_shown_ms"), array(frames.shown)},
                             {QStringLiteral("points_held"), double(held)},
                             {QStringLiteral("points_drawn"), double(drawn)},
                             {QStringLiteral("bytes_a_point"), double(bytes) / double(held)},
                             {QStringLiteral("profile"), profile(theme, size, random)}};
    std::printf("%s\n", QJsonDocument(result).toJson(QJsonDocument::Compact).constData());
    return 0;
}
