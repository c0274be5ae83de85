#!/bin/bash
# SPDX-License-Identifier: MIT
# What a new user gets: installs the .deb into a bare Debian 12 with apt, or unpacks the .tar.gz and installs what docs/guide.md
# names for it, opens the window under Xvfb and draws what it shows, and trains one epoch. Needs root and debootstrap; it is no
# part of ./test, because it downloads packages and PyTorch.
#   tests/setup/bare_package.sh FOLDER FILE.deb|FILE.tar.gz [TORCH]
# FOLDER is made anew, unless --keep comes first. With TORCH, a site-packages folder, that PyTorch is mounted there and named by
# LOCKSTEP_TORCH; without, `lockstepctl setup-torch` installs one.
set -eu
program="${0##*/}"
source="$(cd "$(dirname "$0")/../.." && pwd)"
# shellcheck source=tests/setup/bare_system.sh
. "$source/tests/setup/bare_system.sh"

keep=no
if [ "${1:-}" = --keep ]; then
    keep=yes
    shift
fi
[ $# -ge 2 ] || die "name the folder and the package: $program FOLDER FILE.deb|FILE.tar.gz [TORCH]"
[ "$(id -u)" -eq 0 ] || die "only root can make and enter another system: sudo $0 $*"
[ -f "$2" ] || die "there is no package $2; packaging/package makes it"
if [ -z "${LOCKSTEP_BARE_INSIDE:-}" ]; then # mounts and processes of our own, gone when this ends
    options=()
    [ "$keep" = no ] || options=(--keep)
    LOCKSTEP_BARE_INSIDE=1 exec unshare --mount --propagation private --pid --fork --mount-proc "$0" \
        ${options[@]+"${options[@]}"} "$@"
fi
mkdir -p "$1"
tree="$(cd "$1" && pwd)" package="$(realpath "$2")" torch="${3:-}" to_path=""

# The frame buffer that Xvfb keeps in a file (XWD, 32 bits a pixel), as PNG.
draw() { # draw XWD PNG
    python3 - "$1" "$2" <<'PY'
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
head = struct.unpack(">25I", data[:100])
size, width, height, line, colours = head[0], head[4], head[5], head[12], head[19]
start = size + 12 * colours
rows = []
for y in range(height):
    row = data[start + y * line:start + y * line + 4 * width]
    pixels = bytearray(3 * width)
    pixels[0::3], pixels[1::3], pixels[2::3] = row[2::4], row[1::4], row[0::4]
    rows.append(b"\0" + bytes(pixels))
chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
picture = b"".join(rows)
if len(set(picture)) < 20:
    sys.exit("the window shows nothing")
open(sys.argv[2], "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                             + chunk(b"IDAT", zlib.compress(picture)) + chunk(b"IEND", b""))
PY
}

open_window() { # its picture lies in $tree.png when it is there and alive after some seconds
    enter "mkdir -p /root/screen && { Xvfb :7 -screen 0 1280x800x24 -fbdir /root/screen >/dev/null 2>&1 &
        sleep 2; ${to_path}DISPLAY=:7 lockstep --recipe lenet-dp-vs-ddp --quick >window.log 2>&1 & window=\$!; sleep 12;
        cp /root/screen/Xvfb_screen0 /root/screen/shown; kill -0 \$window && kill \$window %1; }" &&
        draw "$tree/root/screen/shown" "$tree.png"
}

says_the_way_out() {
    local code=0
    enter "${to_path}lockstep-trainer --epochs 1 2>trainer.log" || code=$?
    cat "$tree/root/trainer.log"
    [ "$code" -eq 2 ] && grep -q 'run lockstepctl setup-torch' "$tree/root/trainer.log"
}

install_quietly() { enter "DEBIAN_FRONTEND=noninteractive apt-get -q -y $* >apt.log 2>&1 || { tail apt.log; false; }"; }

: >"$tree.times"
[ "$keep" = yes ] || timed "debootstrap" make_system
pass_settings_in
mount_system
timed "apt-get update" install_quietly update
case "$package" in
*.deb)
    install -m 644 "$package" "$tree/root/lockstep.deb"
    timed "apt-get install ./lockstep.deb" install_quietly install ./lockstep.deb
    ;;
*.tar.gz) # into a folder of the person's own; only what it needs takes root
    line="$(grep -m 1 '^sudo apt install libqt6' "$source/docs/guide.md")" || die "docs/guide.md names no packages for the .tar.gz"
    read -ra needs <<<"${line#sudo apt install }"
    timed "apt-get install what the guide names" install_quietly install --no-install-recommends "${needs[@]}"
    tar -xzf "$package" -C "$tree/root"
    to_path="PATH=$(enter 'echo /root/lockstep-*/bin'):\$PATH; export PATH; "
    ;;
*) die "$package is neither a .deb nor a .tar.gz" ;;
esac
timed "apt-get install xvfb (to look at it)" install_quietly --no-install-recommends install xvfb
enter "${to_path}man -w lockstep >/dev/null 2>&1 || ls \$(dirname \$(command -v lockstep))/../share/man/man1/lockstep*.gz
    lockstep --version; lockstepctl --version"
timed "the window opens" open_window
timed "without PyTorch: the way out" says_the_way_out
if [ -n "$torch" ]; then
    mkdir -p "$tree/opt/torch"
    mount --bind -o ro "$(realpath "$torch")" "$tree/opt/torch"
    named="LOCKSTEP_TORCH=/opt/torch"
else
    timed "lockstepctl setup-torch" enter "${to_path}lockstepctl setup-torch"
    named=""
fi
timed "one epoch, three methods" enter "$to_path$named lockstepctl run lenet-dp-vs-ddp --quick --repeats 1 --set epochs=1"
echo "the window is drawn in $tree.png, times are in $tree.times"
