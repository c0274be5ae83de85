# SPDX-License-Identifier: MIT
"""What charts and long runs cost: run_bench.py's measures of bench_charts and bench_points."""
import json
import os
import statistics
import subprocess

from bench_place import spread

GOAL_FRAMES, GOAL_INPUT_MS, GOAL_RATIO, GOAL_FIRST_S, GOAL_BYTES = 30, 50, 50, 1.0, 24
NOTES = {"charts.md": """\
**What limits.** A `QLineSeries` strokes its whole line anew for hit tests at every `replace`, and a `QChartView` repaints
all of its scene for a crosshair. So Qt Charts keeps the axes here, and a chart paints its curves itself, into a picture
that a moving crosshair leaves alone. Points come from a pyramid of the lowest and highest of every 16, 256, … points;
of a growing curve only the last pixel column is looked at again. Before that, half of the processor time went into cache
misses of the decimation (perf).

**What a point is.** One value at one step, as TensorBoard counts scalars. A frame of a window of steps carries 22: four of
the loss, and sum and longest of nine phases. The window keeps the loss window by window (up to 100,000, then neighbours
are merged, and charts say so) and the phases as sums, so its memory is that of what it can show.

Rates against TensorBoard are by processor time, which a busy machine changes least; each row's load says how busy it was.
TensorBoard is timed on 330,000 points.

"""}
POINTS, PEER_POINTS = 10_000_000, 330_000


def load():
    return f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores"


def offscreen(options, program, *arguments):
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    ran = subprocess.run([options.bin / program, *map(str, arguments)], env=environment, capture_output=True, text=True,
                         timeout=600)
    if ran.returncode != 0:
        raise SystemExit(f"run_bench: {program} ended {ran.returncode}: {ran.stderr.strip()}")
    return json.loads(ran.stdout)


def measure_charts(options):
    before = load()
    own = offscreen(options, "bench_charts", int(options.seconds), 36, "own")
    series = offscreen(options, "bench_charts", max(3, int(options.seconds / 3)), 36, "qt")
    parts = own["profile"]
    size = f"{own['chart_width']} × {own['chart_height']} pixels"
    frames, handled, shown = own["frames_per_s"], own["input_handled_ms"], own["input_shown_ms"]
    return [
        (f"36 charts ({size}), 4 lines × 100,000 points, 10 updates a second, a pointer that never rests: frames a second"
         f" (of its timer's 100); {before}", spread(frames, "/s", 0), f"≥ {GOAL_FRAMES}",
         statistics.median(frames) >= GOAL_FRAMES),
        ("the same: an input until it was handled", spread(handled, "ms"), f"≤ {GOAL_INPUT_MS} ms",
         statistics.median(handled) <= GOAL_INPUT_MS),
        ("the same: an input until a frame had shown it", spread(shown, "ms"), "", True),
        ("the same: updates a second; share of one core", f"{own['updates_per_s']:.1f}; {own['cpu_share']:.2f}", "", True),
        ("A point of a curve, its pyramid included", f"{own['bytes_a_point']:.1f} bytes", f"≤ {GOAL_BYTES} bytes",
         own["bytes_a_point"] <= GOAL_BYTES),
        ("The same charts as QLineSeries, replaced and repainted: updates a second; share of one core",
         f"{series['updates_per_s']:.1f} of 10; {series['cpu_share']:.2f}", "", True),
        ("the same: an input until it was handled", spread(series["input_handled_ms"], "ms"), "", True),
        (f"One chart's update, own curves: decimated; repainted ({parts['qline_points_a_line']:.0f} points a line)",
         f"{parts['own_decimate_ms']:.2f} ms; {parts['own_update_and_paint_ms']:.2f} ms with it", "", True),
        ("One chart's crosshair moved and repainted, own curves", f"{parts['own_crosshair_and_paint_ms']:.2f} ms", "", True),
        ("One chart's update as QLineSeries, axes untouched: replace (it strokes the line for hit tests); repaint",
         f"{parts['qline_replace_ms']:.2f} ms; {parts['qline_repaint_ms']:.2f} ms", "", True),
    ]


def peer_rates(options, layout):
    ran = subprocess.run([options.peers, "tests/bench/tensorboard_points.py", str(PEER_POINTS), "3", layout],
                         cwd=options.bin.parents[1], capture_output=True, text=True, timeout=600, check=True)
    return [[float(word) for word in line.split()] for line in ran.stdout.splitlines()]


def measure_points(options):
    before = load()
    found = [offscreen(options, "bench_points", POINTS) for _ in range(3)]
    rates = [each["points"] / each["open_s"] / 1e6 for each in found]
    cpu = [each["points"] / each["open_cpu_s"] / 1e6 for each in found]
    windows = [each["frames"] / each["open_s"] / 1e3 for each in found]
    sizes = [each["resident_growth_bytes"] / each["points"] for each in found]
    firsts = [each["first_picture_s"] for each in found]
    rows = [(f"{POINTS:,} points opened in the window ({found[0]['frames']:,.0f} windows of 22 values, a log of "
             f"{found[0]['log_bytes'] / 1e6:.0f} MB); {before}", spread(rates, "million points/s", 2), "", True),
            ("the same by processor time", spread(cpu, "million points/s", 2), "", True),
            ("the same counted in windows of steps", spread(windows, "thousand windows/s", 0), "", True),
            ("its first picture", spread(firsts, "s", 2), f"≤ {GOAL_FIRST_S:.0f} s",
             statistics.median(firsts) <= GOAL_FIRST_S),
            ("memory, by the process's growth", spread(sizes, "bytes a point"), f"≤ {GOAL_BYTES} bytes",
             statistics.median(sizes) <= GOAL_BYTES)]
    if not options.peers.exists():
        return rows + [("TensorBoard's EventAccumulator", f"not measured: {options.peers} does not exist", "", True)]
    for layout, words, goal in (("each", "an event a value, as SummaryWriter.add_scalar writes them", True),
                                ("together", "an event a step with all 22 values", False)):
        peer = peer_rates(options, layout)
        ratio = statistics.median(cpu) / statistics.median(rate[1] / 1e6 for rate in peer)
        rows.append((f"TensorBoard's EventAccumulator, {words}; by processor time",
                     spread([rate[0] / 1e3 for rate in peer], "thousand points/s", 0) + "; "
                     + spread([rate[1] / 1e3 for rate in peer], "thousand points/s", 0), "", True))
        rows.append(("how many times as fast the window is, by processor time", f"{ratio:.0f}",
                     f"≥ {GOAL_RATIO}" if goal else "", ratio >= GOAL_RATIO if goal else True))
    return rows
