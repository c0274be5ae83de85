# SPDX-License-Identifier: MIT
# What bare_debian.sh and bare_package.sh share: a bare Debian 12 in a folder, entered by chroot. Sourced with `tree` (the folder),
# `source` (the project) and `program` set; needs root, and mounts of the caller's own.
# BARE_SUITE=noble makes Ubuntu 24.04 instead; debootstrap then wants Ubuntu's keyring: BARE_KEYRING=FILE where it is not installed.
suite="${BARE_SUITE:-bookworm}"

die() {
    echo "$program: $*" >&2
    exit 2
}

timed() { # timed TEXT COMMAND...
    local text="$1" begun=$SECONDS code=0
    shift
    "$@" || code=$?
    printf '== %-40s %5d s  exit %d\n' "$text" $((SECONDS - begun)) "$code" | tee -a "$tree.times"
    return "$code"
}

is_ubuntu() { [ "$suite" = noble ]; }

make_system() {
    case "$tree" in / | /usr* | /etc* | /home | /root | "$source"*) die "will not make a system in $tree" ;; esac
    rm -rf --one-file-system "$tree"
    mkdir -p "$tree"
    local options=(--variant=minbase ${BARE_KEYRING:+--keyring="$BARE_KEYRING"}) ubuntu=()
    if is_ubuntu; then
        options+=(--components=main,universe)
        ubuntu=(http://archive.ubuntu.com/ubuntu gutsy) # all of Ubuntu's releases are made as that one
    fi
    debootstrap "${options[@]}" "$suite" "$tree" "${ubuntu[@]}" >"$tree.debootstrap.log" 2>&1 ||
        die "debootstrap failed, see $tree.debootstrap.log"
}

pass_settings_in() {
    local file sources=(/etc/apt/sources.list /etc/apt/sources.list.d/debian*)
    if is_ubuntu; then
        sources=()
    fi
    for file in "${sources[@]}" /etc/apt/apt.conf /etc/apt/apt.conf.d/*prox* \
        /etc/pip.conf /etc/resolv.conf /etc/hosts; do
        [ ! -f "$file" ] || install -D -m 644 "$(readlink -f "$file")" "$tree$file"
    done
    if ! is_ubuntu && [ -f /etc/apt/sources.list.d/debian.sources ]; then
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

mount_system() {
    mount --bind "$tree" "$tree"
    mount -t proc proc "$tree/proc"
    mount --rbind /sys "$tree/sys"
    mount --rbind /dev "$tree/dev"
}
