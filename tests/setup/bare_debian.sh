#!/bin/bash
# SPDX-License-Identifier: MIT
# What a new user sees: clones the last commit into a bare Debian 12 (BARE_SUITE=noble: Ubuntu 24.04; no compiler, CMake, git or
# Python) and runs
# ./run --headless --quick, then ./test, there, and prints how long each took. Needs root and debootstrap; it is no part of
# ./test, because it downloads all packages and PyTorch anew.
#   tests/setup/bare_debian.sh FOLDER [COMMAND...]   COMMAND instead of the two, e.g. "./run --setup"
# FOLDER is made anew, unless --keep comes first: then the system and the clone in it are used as they are.
# The machine's apt and pip settings, certificates and name resolution are passed in. Mounts and processes end with it.
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
[ $# -ge 1 ] || die "name the folder to make the system in: $program FOLDER"
[ "$(id -u)" -eq 0 ] || die "only root can make and enter another system: sudo $0 $*"
if [ -z "${LOCKSTEP_BARE_INSIDE:-}" ]; then # mounts and processes of our own, gone when this ends
    options=()
    [ "$keep" = no ] || options=(--keep)
    LOCKSTEP_BARE_INSIDE=1 exec unshare --mount --propagation private --pid --fork --mount-proc "$0" \
        ${options[@]+"${options[@]}"} "$@"
fi
mkdir -p "$1"
tree="$(cd "$1" && pwd)"
shift

[ "$keep" = yes ] || timed "debootstrap" make_system
pass_settings_in
mount_system
mkdir -p "$tree/source"
mount --bind -o ro "$source" "$tree/source"

if [ "$keep" = no ] || [ ! -d "$tree/root/lockstep" ]; then
    timed "apt-get install git" enter "apt-get -q update >/dev/null && DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y --no-install-recommends install git ca-certificates >/dev/null"
    timed "git clone" enter "git clone -q file:///source lockstep"
fi
[ $# -gt 0 ] || set -- "./run --headless --quick" "./run --headless --quick" "./test" "./test"
worst=0
for command in "$@"; do
    echo "== $command"
    timed "$command" enter "cd lockstep && $command" || worst=$?
done
echo "times are in $tree.times"
exit "$worst"
