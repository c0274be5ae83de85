#!/bin/bash
# What a stranger sees: clones the last commit into a bare Debian 12 (no compiler, CMake, git or Python) and runs
# ./run --headless --quick, then ./test, there, and tells how long each took. Needs root and debootstrap; it is no part of
# ./test, because it downloads all packages and PyTorch anew.
#   tests/setup/bare_debian.sh FOLDER [COMMAND...]   COMMAND instead of the two, e.g. "./run --setup"
# FOLDER is made anew, unless --keep comes first: then the system and the clone in it are used as they are.
# The machine's apt and pip settings, certificates and name resolution are passed in. Mounts and processes end with it.
set -eu
program="${0##*/}"

die() {
    echo "$program: $*" >&2
    exit 2
}

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
source="$(cd "$(dirname "$0")/../.." && pwd)"

timed() { # timed TEXT COMMAND...
    local text="$1" begun=$SECONDS code=0
    shift
    "$@" || code=$?
    printf '== %-40s %5d s  exit %d\n' "$text" $((SECONDS - begun)) "$code" | tee -a "$tree.times"
    return "$code"
}

make_system() {
    case "$tree" in / | /usr* | /etc* | /home | /root | "$source"*) die "will not make a system in $tree" ;; esac
    rm -rf --one-file-system "$tree"
    mkdir -p "$tree"
    debootstrap --variant=minbase bookworm "$tree" >"$tree.debootstrap.log" 2>&1 ||
        die "debootstrap failed, see $tree.debootstrap.log"
}

pass_settings_in() {
    local file
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian* /etc/apt/apt.conf /etc/apt/apt.conf.d/*prox* \
        /etc/pip.conf /etc/resolv.conf /etc/hosts; do
        [ ! -f "$file" ] || install -D -m 644 "$(readlink -f "$file")" "$tree$file"
    done
    if [ -f /etc/apt/sources.list.d/debian.sources ]; then
        : >"$tree/etc/apt/sources.list"
    fi
    mkdir -p "$tree/etc/ssl/certs" "$tree/usr/local/share/ca-certificates"
    cp -L /etc/ssl/certs/ca-certificates.crt "$tree/etc/ssl/certs/" 2>/dev/null || true
    cp -rL /usr/local/share/ca-certificates/. "$tree/usr/local/share/ca-certificates/" 2>/dev/null || true
}

enter() { # enter SHELL-COMMAND: as root, in /root, with nothing of this shell's environment but the network's
    local name passed=()
    for name in $(compgen -e); do
        case "$name" in PIP_* | *_proxy | *_PROXY | SSL_CERT_* | REQUESTS_CA_BUNDLE | GIT_SSL_CAINFO)
            passed+=("$name=${!name}")
            ;;
        esac
    done
    chroot "$tree" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "${passed[@]}" \
        bash -c "cd /root && $1"
}

[ "$keep" = yes ] || timed "debootstrap" make_system
pass_settings_in
mount --bind "$tree" "$tree"
mount -t proc proc "$tree/proc"
mount --rbind /sys "$tree/sys"
mount --rbind /dev "$tree/dev"
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
