// SPDX-License-Identifier: MIT
#include "export/svg_chart.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/format.h"
#include "export/report.h"
#include "ipc/run_title.h"
#include "ipc/sound_values.h"

namespace lockstep::core {
namespace {

std::string colorOf(std::string_view method) {
    return std::string(methodColorName(method));
}

constexpr double width = 640, rowHeight = 26, axisHeight = 40, nameWidth = 176, valueWidth = 84;

std::string coordinate(double value) {
    return significant(value, 5).remove(u',').toStdString(); // a comma parts coordinates
}

/// Shortens in the middle, since names often begin alike. Counts characters, not bytes, to keep the UTF-8 valid.
std::string shortened(const std::string &name, qsizetype most = 26) {
    const QString whole = QString::fromStdString(shortTitle(name));
    if (whole.size() <= most)
        return whole.toStdString();
    const qsizetype begin = most / 2;
    return (whole.left(begin) + QStringLiteral("…") + whole.right(most - 1 - begin)).toStdString();
}

/// Builds one drawing. Coordinates are in the viewBox's units; text is 12 of them high.
class Drawing {
public:
    Drawing(double height, const std::string &label) : m_height(height) {
        m_out = "<svg viewBox=\"0 0 " + coordinate(width) + " " + coordinate(height) + "\" role=\"img\" aria-label=\"" +
                htmlText(label) + "\" font-size=\"12\" font-family=\"inherit\">\n";
    }
    void word(double x, double y, const std::string &said, const char *anchor = "start",
              const char *fill = "var(--text)", bool bold = false, const std::string &whole = {}) {
        m_out += "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" text-anchor=\"" + anchor +
                 "\" fill=\"" + fill + "\"" + (bold ? " font-weight=\"600\"" : "") + ">" +
                 (whole.empty() ? "" : "<title>" + htmlText(whole) + "</title>") + htmlText(said) + "</text>\n";
    }
    /// Shortened to its room; the tooltip has it whole.
    void name(double x, double y, const std::string &whole, const char *fill, bool bold, qsizetype most = 26) {
        const std::string said = shortened(whole, most);
        word(x, y, said, "start", fill, bold, said == whole ? std::string() : whole);
    }
    void line(double x1, double y1, double x2, double y2, const char *stroke, const char *more = "") {
        m_out += "<line x1=\"" + coordinate(x1) + "\" y1=\"" + coordinate(y1) + "\" x2=\"" + coordinate(x2) +
                 "\" y2=\"" + coordinate(y2) + "\" stroke=\"" + stroke + "\"" + more + "/>\n";
    }
    void box(double x, double y, double w, double h, const std::string &attributes) {
        m_out += "<rect x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" width=\"" +
                 coordinate(std::max(1.0, w)) + "\" height=\"" + coordinate(h) + "\" " + attributes + "/>\n";
    }
    void whisker(double from, double to, double y) {
        line(from, y, to, y, "var(--text)");
        line(from, y - 4, from, y + 4, "var(--text)");
        line(to, y - 4, to, y + 4, "var(--text)");
    }
    void polyline(const std::string &points, const std::string &stroke, const char *more = "") {
        m_out += "<polyline fill=\"none\" stroke=\"" + stroke + "\" stroke-width=\"1.5\" stroke-linejoin=\"round\"" +
                 more + " points=\"" + points + "\"/>\n";
    }
    [[nodiscard]] double height() const { return m_height; }
    [[nodiscard]] std::string finish() { return std::move(m_out) + "</svg>\n"; }

private:
    std::string m_out;
    double m_height;
};

/// 1, 2 or 5 × 10^k so that about `wanted` steps cover the range.
double roundStep(double range, int wanted) {
    const double rough = range / wanted, power = std::pow(10, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= rough)
            return factor * power;
    return 10 * power;
}

/// With as many decimals as the axis' step.
std::string tickText(double at, double step) {
    const int decimals = std::max(0, int(std::ceil(-std::log10(step) - 1e-9)));
    return QString::number(std::abs(at) < step * 1e-6 ? 0 : at, 'f', decimals).toStdString();
}

/// Multiples of a step in a range; none where the step is too small beside the values to tell two of them apart.
std::vector<double> multiples(double low, double high, double step) {
    const double first = std::ceil(low / step), count = std::floor(high / step + 1e-9) - first + 1;
    std::vector<double> out;
    for (int i = 0; i < std::min(count, 50.0) && (first + i + 1) * step > (first + i) * step; ++i)
        out.push_back((first + i) * step);
    return out;
}

struct Scale {
    double low, high, from, to;
    [[nodiscard]] double operator()(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

void valueAxis(Drawing &drawing, const Scale &x, double top, double bottom, const std::string &title,
               bool whole = false) {
    const double step = std::max(roundStep(x.high - x.low, 5), whole ? 1.0 : 0.0);
    for (const double at : multiples(x.low, x.high, step)) {
        drawing.line(x(at), top, x(at), bottom, "var(--line)");
        drawing.word(x(at), bottom + 14, tickText(at, step), "middle", "var(--quiet)");
    }
    drawing.word((x.from + x.to) / 2, bottom + 32, title, "middle", "var(--quiet)");
}

void heightAxis(Drawing &drawing, const Scale &y, double left, double right, const std::string &title) {
    const double step = roundStep(y.high - y.low, 5);
    for (const double at : multiples(y.low, y.high, step)) {
        drawing.line(left, y(at), right, y(at), "var(--line)");
        drawing.word(left - 6, y(at) + 4, tickText(at, step), "end", "var(--quiet)");
    }
    drawing.word(left, 12, title, "start", "var(--quiet)");
}

struct Line {
    std::string name, method;
    std::vector<std::pair<double, double>> points;
};

/// Lines with their names at the right end, kept apart.
std::string lines(const std::vector<Line> &all, const std::string &xTitle, const std::string &yTitle,
                  const std::string &label) {
    double lowX = INFINITY, highX = -INFINITY, lowY = INFINITY, highY = -INFINITY;
    for (const Line &line : all)
        for (const auto &[x, y] : line.points) {
            lowX = std::min(lowX, x), highX = std::max(highX, x);
            lowY = std::min(lowY, y), highY = std::max(highY, y);
        }
    if (!(highX >= lowX))
        return {};
    const double room = 15; // of a name at a line's end
    const double height = std::max(300.0, room * double(all.size()) + axisHeight + 24), bottom = height - axisHeight,
                 right = width - nameWidth;
    const Scale x{lowX, highX > lowX ? highX : lowX + 1, 52, right},
        y{std::min(0.0, lowY), highY > lowY ? highY : highY + 1, bottom, 22};
    Drawing drawing(height, label);
    heightAxis(drawing, y, x.from, x.to, yTitle);
    valueAxis(drawing, x, bottom, bottom, xTitle, true); // steps, epochs
    std::vector<std::pair<double, const Line *>> ends;
    for (const Line &line : all) {
        std::string points;
        for (const auto &[at, value] : line.points)
            points += coordinate(x(at)) + "," + coordinate(y(value)) + " ";
        if (line.points.size() == 1)
            drawing.box(x(line.points[0].first) - 2, y(line.points[0].second) - 2, 4, 4,
                        "fill=\"" + colorOf(line.method) + "\"");
        drawing.polyline(points, colorOf(line.method));
        if (!line.points.empty())
            ends.emplace_back(y(line.points.back().second), &line);
    }
    std::ranges::stable_sort(ends, {}, &std::pair<double, const Line *>::first);
    double next = 18;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const double most = bottom - room * double(ends.size() - 1 - i);
        next = std::min(std::max(next, ends[i].first + 4), most);
        drawing.name(right + 6, next, ends[i].second->name, colorOf(ends[i].second->method).c_str(), true, 24);
        next += room;
    }
    return drawing.finish();
}

} // namespace

std::string speedUpSvg(const ResultTable &table, const Judgement &judgement) {
    struct Row {
        const ResultRow *row;
        std::optional<double> value; ///< absent: other work
        std::optional<double> low, high;
    };
    std::vector<Row> rows;
    double high = 1;
    for (const ResultRow &row : table.rows) {
        const auto value = row.speedUpTraining ? row.speedUpTraining : row.published ? row.speedUpRun : std::nullopt;
        if (!value && !row.otherWork)
            continue;
        Row drawn{&row, value, {}, {}};
        for (const PairJudgement &pair : judgement.pairs)
            if (value && !row.published && pair.run == row.name && pair.training) {
                drawn.low = pair.training->low;
                drawn.high = pair.training->high;
            }
        high = std::max({high, drawn.value.value_or(0), drawn.high.value_or(0)});
        rows.push_back(drawn);
    }
    if (rows.empty())
        return {};
    const double bottom = rowHeight * double(rows.size()) + 4;
    Drawing drawing(bottom + axisHeight, "Speed-up of the total training time");
    const Scale x{0, high * 1.02, nameWidth, width - valueWidth};
    valueAxis(drawing, x, 2, bottom, "speed-up, training time");
    drawing.line(x(1), 2, x(1), bottom, "var(--quiet)", " stroke-dasharray=\"4 3\"");
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Row &row = rows[i];
        const double y = 4 + rowHeight * double(i), middle = y + rowHeight / 2;
        const std::string color = colorOf(row.row->method);
        drawing.name(0, middle + 4, labelOf(*row.row), row.row->published ? "var(--quiet)" : "var(--text)", true);
        if (!row.value) {
            drawing.word(x(0) + 8, middle + 4, otherWorkText, "start", "var(--quiet)");
            continue;
        }
        drawing.box(x(0), y + 4, x(*row.value) - x(0), rowHeight - 8,
                    row.row->published
                        ? "fill=\"none\" stroke=\"" + color + "\" stroke-width=\"1.5\" stroke-dasharray=\"2 2\""
                        : "fill=\"" + color + "\"");
        double end = x(*row.value);
        if (row.low && row.high) {
            drawing.whisker(x(*row.low), x(*row.high), middle);
            end = std::max(end, x(*row.high));
        }
        drawing.word(end + 8, middle + 4, speedUp(*row.value).toStdString(), "start", "var(--text)", true);
    }
    return drawing.finish();
}

std::string waterfallSvg(const Attribution &found, std::string_view referenceMethod, std::string_view method) {
    double low = 0, high = std::max(found.referenceS, found.runS), at = found.referenceS;
    for (const AttributionBar &bar : found.bars) {
        for (const double end :
             {at + bar.seconds, at + bar.low.value_or(bar.seconds), at + bar.high.value_or(bar.seconds)}) {
            low = std::min(low, end);
            high = std::max(high, end);
        }
        at += bar.seconds;
    }
    if (!(high > low))
        return {};
    const std::size_t rows = found.bars.size() + 2;
    const double bottom = rowHeight * double(rows) + 4;
    Drawing drawing(bottom + axisHeight, "From " + found.reference + " to " + found.run);
    const Scale x{low, high * 1.02, nameWidth, width - valueWidth};
    valueAxis(drawing, x, 2, bottom, found.axis());
    const std::string color = colorOf(method);
    const auto label = [&](std::size_t row, const std::string &name, double end, const std::string &value, bool total) {
        const double middle = 4 + rowHeight * (double(row) + 0.5) + 4;
        drawing.name(0, middle, name, total ? "var(--text)" : "var(--quiet)", total);
        drawing.word(end + 8, middle, value, "start", "var(--text)", true);
    };
    const auto total = [&](std::size_t row, const std::string &name, double seconds, const std::string &fill) {
        drawing.box(x(0), 8 + rowHeight * double(row), x(seconds) - x(0), rowHeight - 8, "fill=\"" + fill + "\"");
        label(row, name, x(seconds), significant(seconds).toStdString() + " s", true);
    };
    total(0, found.reference, found.referenceS, colorOf(referenceMethod));
    at = found.referenceS;
    for (std::size_t i = 0; i < found.bars.size(); ++i) {
        const AttributionBar &bar = found.bars[i];
        const double from = x(std::min(at, at + bar.seconds)), to = x(std::max(at, at + bar.seconds)),
                     y = 8 + rowHeight * double(i + 1);
        const std::string style = bar.cause == Cause::Unattributed
                                      ? "fill=\"none\" stroke=\"var(--quiet)\" stroke-dasharray=\"2 2\""
                                  : bar.seconds < 0 ? "fill=\"" + color + "\" fill-opacity=\"0.74\""
                                                    : "fill=\"var(--quiet)\" fill-opacity=\"0.45\"";
        drawing.box(from, y, to - from, rowHeight - 8, style + (bar.isDoubtful() ? " opacity=\"0.4\"" : ""));
        double end = to;
        if (bar.low && bar.high) {
            drawing.whisker(x(at + *bar.low), x(at + *bar.high), y + rowHeight / 2 - 4);
            end = std::max(end, x(at + *bar.high));
        }
        label(i + 1, std::string(toString(bar.cause)), end,
              addedSeconds(bar.seconds, bar.reach(), found.longerS()).toStdString(), false);
        at += bar.seconds;
    }
    total(rows - 1, found.run, found.runS, color);
    return drawing.finish();
}

namespace {

/// Of each stretch the lowest and the highest point, in their order.
Line lossLine(const std::string &name, const ExportedCurve &curve, int pointsALine) {
    Line line{name, curve.method, {}};
    const std::size_t each = std::max<std::size_t>(1, curve.points.size() * 2 / std::size_t(pointsALine));
    for (std::size_t i = 0; i < curve.points.size(); i += each) {
        const auto first = curve.points.begin() + std::ptrdiff_t(i),
                   last = curve.points.begin() + std::ptrdiff_t(std::min(curve.points.size(), i + each));
        auto [low, high] = std::minmax_element(first, last, [](const LossPoint &a, const LossPoint &b) {
            return isFiniteValue(a.loss) && (!isFiniteValue(b.loss) || a.loss < b.loss); // not finite: last
        });
        if (high < low)
            std::swap(low, high);
        for (const auto &point : {low, high})
            if (isFiniteValue(point->loss) && (line.points.empty() || line.points.back().first < double(point->step)))
                line.points.emplace_back(double(point->step), point->loss);
    }
    return line;
}

} // namespace

std::string lossSvg(const ResultTable &table, const std::vector<ExportedCurve> &curves, int pointsALine) {
    std::vector<Line> all;
    for (const ResultRow &row : table.rows)
        for (const std::string &run : row.runs)
            if (const auto curve = std::ranges::find(curves, run, &ExportedCurve::run); curve != curves.end()) {
                if (Line line = lossLine(row.name, *curve, pointsALine); !line.points.empty())
                    all.push_back(std::move(line));
                break; // the others are further repeats of the same
            }
    return all.empty() ? std::string() : lines(all, "step", "training loss", "Training loss over steps");
}

std::string epochSvg(const ResultTable &table) {
    std::vector<Line> all;
    for (const ResultRow &row : table.rows) {
        Line line{labelOf(row), row.method, {}};
        for (const MergedEpoch &epoch : row.epochs)
            if (epoch.durationS > 0 && !epoch.part)
                line.points.emplace_back(epoch.epoch, epoch.durationS);
        if (!line.points.empty() && !row.published) // another machine's seconds would flatten ours
            all.push_back(std::move(line));
    }
    return all.empty() ? std::string() : lines(all, "epoch", "duration / s", "Seconds of each epoch");
}

namespace {

/// Like the window's anatomy: loading light, computing full, communication hatched (here: half, outlined).
std::string phaseStyleOf(const std::string &phase, const std::string &color) {
    const bool load = phase == "load" || phase == "h2d", rest = phase == "other" || phase == "around";
    const bool sends =
        phase == "scatter" || phase == "replicate" || phase == "gather" || phase == "reduce" || phase == phase::exposed;
    if (sends)
        return "fill=\"" + color + "\" fill-opacity=\"0.35\" stroke=\"" + color + "\" stroke-dasharray=\"3 2\"";
    return "fill=\"" + (rest ? std::string("var(--quiet)") : color) + "\" fill-opacity=\"" +
           (rest   ? "0.25"
            : load ? "0.3"
                   : "0.8") +
           "\"";
}

/// A device's own work, followed by a line for waiting; `first`: device 0, which also does the work of one device.
void stageOf(Drawing &drawing, const Scale &x, double from, const DpStage &stage, const DpDevice &device, bool first,
             double y, const std::string &color) {
    const auto own = stage.everyDevice ? device.ownS.find(stage.phase) : device.ownS.end();
    const double worked = own != device.ownS.end() ? std::min(own->second, stage.seconds)
                          : stage.phase == phase::wait || (!first && !stage.everyDevice) ? 0
                                                                                         : stage.seconds;
    const double middle = y + rowHeight / 2;
    if (worked < stage.seconds)
        drawing.line(x(from + worked), middle, x(from + stage.seconds), middle, "var(--line)");
    if (worked <= 0)
        return;
    drawing.box(x(from), y + 3, x(from + worked) - x(from), rowHeight - 6, phaseStyleOf(stage.phase, color));
    std::string name = stage.phase.starts_with("parallel_") ? stage.phase.substr(9) : stage.phase;
    if (own == device.ownS.end() && stage.everyDevice && !first)
        name += " ?"; // an upper limit: the slowest device determines its length
    if (x(from + worked) - x(from) > 7 * double(name.size()) + 6)
        drawing.word((x(from) + x(from + worked)) / 2, middle + 4, name, "middle");
}

} // namespace

std::string anatomySvg(const std::vector<StepAnatomy> &anatomies) {
    double rows = 0, longest = 0;
    for (const StepAnatomy &one : anatomies) {
        rows += double(one.anatomy.devices.size());
        longest = std::max(longest, one.anatomy.stepS);
    }
    if (rows == 0 || !(longest > 0))
        return {};
    const double bottom = rowHeight * rows + 4;
    Drawing drawing(bottom + axisHeight, "Where a step goes, device by device");
    const Scale x{0, longest, nameWidth, width - 16}, ms{0, longest * 1e3, nameWidth, width - 16};
    valueAxis(drawing, ms, bottom, bottom, "time within a step / ms");
    double y = 2;
    for (const StepAnatomy &one : anatomies)
        for (std::size_t i = 0; i < one.anatomy.devices.size(); ++i, y += rowHeight) {
            const double middle = y + rowHeight / 2 + 4;
            if (i == 0)
                drawing.name(0, middle, one.name, "var(--text)", true, 16);
            drawing.word(nameWidth - 8, middle, one.anatomy.devices[i].device, "end", "var(--quiet)");
            double from = 0;
            for (const DpStage &stage : one.anatomy.stages) {
                stageOf(drawing, x, from, stage, one.anatomy.devices[i], i == 0, y, colorOf(one.method));
                from += stage.seconds;
            }
        }
    return drawing.finish();
}

} // namespace lockstep::core
