#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes the pictures of README.md and docs/guide.md anew from the built programs: trains the quick recipe in a home of its
# own, then lets the window draw its pages without a screen. Nothing is retouched.
#   docs/make_pictures.sh [BIN]     BIN: folder of the programs, by default build/bin
set -eu
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
bin="$(cd "${1:-$root/build/bin}" && pwd)"
pictures="$root/docs/pictures"
LOCKSTEP_HOME="$(mktemp -d)"
export LOCKSTEP_HOME QT_QPA_PLATFORM=offscreen
trap 'rm -rf "$LOCKSTEP_HOME"' EXIT

picture() { # picture NAME PAGE [OPTION...]
    local name="$1" page="$2"
    shift 2
    "$bin/lockstep" --screenshot "$pictures/$name.png" --page "$page" --size 1280x800 "$@" # the last --size counts
}
newest() { # the experiment that began last: ids begin with their time
    "$bin/lockstepctl" list --json |
        python3 -c 'import json, sys; print(max(e["experiment"] for e in json.load(sys.stdin)["experiments"]))'
}

picture plan plan --light
"$bin/lockstepctl" run lenet-dp-vs-ddp --quick
experiment="$(newest)"
for page in live verdict runs; do
    picture "$page" "$page" --light --experiment "$experiment"
done
picture verdict-dark verdict --dark --experiment "$experiment"
# A comparison that is not fair, so that Verdict has something to find: another loader and more devices at once.
cat >"$LOCKSTEP_HOME/loader-or-devices.json" <<'JSON'
{
  "name": "loader-or-devices",
  "title": "The loader or the devices?",
  "base": {
    "model": "lenet", "dataset": "fashion-mnist", "device": "auto", "train_samples": 12800, "epochs": 3, "batch_size": 64
  },
  "runs": [
    {"name": "baseline, item loader", "method": "baseline", "devices": 1, "loader": "item", "augment": "affine"},
    {"name": "DDP on 2 devices, batch loader", "method": "ddp", "devices": 2, "loader": "batch", "augment": "affine"}
  ],
  "reference": "baseline, item loader",
  "repeats": 3
}
JSON
"$bin/lockstepctl" run "$LOCKSTEP_HOME/loader-or-devices.json"
picture verdict-fairness verdict --light --experiment "$(newest)" --size 1280x1200
"$bin/lockstepctl" lab --quick
"$bin/lockstepctl" forecast lenet-dp-vs-ddp --set train_samples=12800
picture lab lab --light
picture lab-forecast lab --light --size 1280x1900 # the forecast stands below the lab's charts
# Three hosts in network namespaces; without root there are none, and the picture stays as it is.
python3 "$root/docs/nodes_picture.py" "$bin" "$pictures/nodes.png"
