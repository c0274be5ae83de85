#!/bin/bash
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
    "$bin/lockstep" --screenshot "$pictures/$name.png" --page "$page" --size 1280x800 "$@"
}

picture plan plan --light
"$bin/lockstepctl" run lenet-dp-vs-ddp --quick
experiment="$("$bin/lockstepctl" list --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["experiments"][0]["experiment"])')"
for page in live verdict runs; do
    picture "$page" "$page" --light --experiment "$experiment"
done
picture live-dark live --dark --experiment "$experiment"
"$bin/lockstepctl" lab --quick
"$bin/lockstepctl" forecast lenet-dp-vs-ddp --set train_samples=12800
picture lab lab --light
# Three hosts in network namespaces; without root there are none, and the picture stays as it is.
python3 "$root/docs/nodes_picture.py" "$bin" "$pictures/nodes.png"
