# SPDX-License-Identifier: MIT
# What ./run and ./test share: progress, packages, LibTorch, configuring, building. Sourced with `root` set to the
# project's folder and `program` to the command's name. Nothing here changes the machine unless something is missing.

setup="$root/packaging/setup"
cache="$root/.cache/setup"
torch_version=2.11

if [ -z "${HOME:-}" ]; then
    HOME="$(getent passwd "$(id -u)" | cut -d: -f6)"
    [ -d "$HOME" ] || HOME="$root/.cache/home"
    export HOME
fi
mkdir -p "$cache" || { echo "$program: cannot write to $root: choose a folder of your own" >&2; exit 2; }

stop() { # stop CODE SENTENCE
    local code="$1"
    shift
    echo "$program: $*" >&2
    exit "$code"
}

seconds_since() { # tenths of a second, without starting a process
    local now=$((${EPOCHREALTIME//[!0-9]/} - $1))
    printf '%d.%d s' $((now / 1000000)) $((now / 100000 % 10))
}

say() { # say NAME TEXT [START]
    local took=""
    [ -z "${3:-}" ] || took="  ($(seconds_since "$3"))"
    printf '%-10s %s%s\n' "$1" "$2" "$took"
}

# What a command says of its progress: of ninja's output how many steps are done, how many are left and what was built last, in
# words; of another's its last line.
progress_in() { # progress_in LOG
    local line part="" what
    line="$(tail -n 50 "$1" 2>/dev/null | tr '\r' '\n' | grep -E '^\[[0-9]+/[0-9]+\] ' | tail -n 1)"
    if [[ "$line" =~ ^\[([0-9]+)/([0-9]+)\]\ (.*)$ ]]; then
        what="${BASH_REMATCH[3]##* }"
        what="${what%%/CMakeFiles/*}" # the folder that the compiled file lies in
        [ "$what" = "${BASH_REMATCH[3]}" ] || part=", last: $what"
        echo "${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps done, $((BASH_REMATCH[2] - BASH_REMATCH[1])) left$part"
    else
        tail -n 1 "$1" 2>/dev/null | tr '\r' '\n' | tail -n 1
    fi
}

# Shows that a long command is alive: each second on a terminal, each half minute in a log.
tick() { # tick NAME TEXT LOG PARENT
    local begun=$SECONDS line
    while sleep 1 >/dev/null 2>&1 && kill -0 "$4" 2>/dev/null; do # it outlives us by up to a second: it must not hold a pipe
        line="$(progress_in "$3")"
        if [ -t 1 ]; then
            printf '\r\033[K%-10s %s  %ds  %.70s' "$1" "$2" $((SECONDS - begun)) "$line"
        elif [ $(((SECONDS - begun) % 30)) -eq 0 ]; then
            printf '%-10s %s  %ds  %.80s\n' "$1" "$2" $((SECONDS - begun)) "$line"
        fi
    done
}

long_step() { # long_step NAME TEXT COMMAND...: the command's output goes to a log, shown when it fails
    local name="$1" text="$2" begun="${EPOCHREALTIME//[!0-9]/}" log="$cache/$1.log" code=0 ticker
    shift 2
    : >"$log"
    tick "$name" "$text" "$log" $$ 9>&- & # 9 is the lock of the set-up, which nothing may outlive
    ticker=$!
    "$@" >"$log" 2>&1 </dev/null 9>&- || code=$?
    kill "$ticker" 2>/dev/null
    wait "$ticker" 2>/dev/null
    [ ! -t 1 ] || printf '\r\033[K'
    if [ "$code" -ne 0 ]; then
        tail -n 60 "$log" >&2
        echo "$program: $name failed with exit code $code; the whole output is in ${log#"$root"/}" >&2
        return "$code"
    fi
    say "$name" "$text" "$begun"
}

# ---- distribution packages -------------------------------------------------------------------------------------

needs() { # needs GROUP...: the lines of packages.txt that these groups ask for
    local group
    for group in base "$@"; do
        sed -n "s/^$group //p" "$setup/packages.txt"
    done | sort -u
}

is_installed() { # is_installed NAME, from the list read once into `installed`
    case "$installed" in *"
$1
"*) return 0 ;; esac
    return 1
}

is_known() { LC_ALL=C apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [^(]'; }

missing_packages() { # prints the needs that no installed package meets
    local installed need name met
    installed="
$(dpkg-query -W -f '${db:Status-Abbrev}|${Package}\n' 2>/dev/null | sed -n 's/^ii *|//p')
"
    needs "$@" | while read -r need; do
        met=no
        case "$need" in \?*)
            need="${need#?}"
            is_known "$need" || met=yes
        esac
        for name in ${need//|/ }; do
            is_installed "$name" && met=yes
        done
        [ "$met" = yes ] || echo "$need"
    done
}

choose_names() { # of each need, the first name that apt can install
    local need name
    for need in "$@"; do
        for name in ${need//|/ } ""; do
            [ -n "$name" ] || { echo "${need%%|*}"; break; }
            if is_known "$name"; then
                echo "$name"
                break
            fi
        done
    done
}

ensure_packages() { # ensure_packages GROUP...
    local begun="${EPOCHREALTIME//[!0-9]/}" missing names as_root=""
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        stop 2 "this system has no apt; install what $(needs "$@" | sed 's/^?//; s/|.*//' | tr '\n' ' ')are called here, then" \
            "build with cmake --preset release (CONTRIBUTING.md)"
    fi
    missing="$(missing_packages "$@")"
    if [ -z "$missing" ]; then
        say packages "all $(needs "$@" | wc -l) present" "$begun"
        return
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
            as_root="sudo"
        else
            # shellcheck disable=SC2046,SC2086
            stop 2 "packages are missing, and installing them needs root. Run: sudo apt-get install" \
                $(choose_names $missing)
        fi
    fi
    long_step apt-update "reading the package lists" $as_root apt-get update -q || exit 1
    missing="$(missing_packages "$@")" # again: now apt knows the names
    # shellcheck disable=SC2046,SC2086
    names="$(choose_names $missing | tr '\n' ' ')"
    say packages "missing: $names"
    # shellcheck disable=SC2086
    long_step packages "installing $(echo $names | wc -w) packages" \
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $names || exit 1
}

# ---- Python wheels ---------------------------------------------------------------------------------------------

# The packages and versions that these lists pin, on one line, without comments and hashes.
pins() { # pins FILE...
    sed -e '/^#/d' -e 's/ --hash=[^ ]*//g' "$@" | tr '\n' ' '
}

# ---- LibTorch --------------------------------------------------------------------------------------------------

# Prints the folder of a supported torch that this Python imports, without importing it (that takes seconds).
torch_of() { # torch_of PYTHON
    "$1" - "$torch_version" 2>/dev/null <<'PY'
import importlib.util, pathlib, re, sys
spec = importlib.util.find_spec("torch")
folder = pathlib.Path(spec.submodule_search_locations[0])
version = re.search(r"__version__ = '([^']+)'", (folder / "version.py").read_text())[1]
if version.startswith(sys.argv[1] + ".") and (folder / "include/torch").is_dir() and (folder / "lib/libtorch_cpu.so").exists():
    print(folder)
PY
}

# Sets `torch` to the folder of the torch package.
ensure_torch() {
    local begun="${EPOCHREALTIME//[!0-9]/}" stamp="$root/.venv/lockstep-stamp" want what
    want="$(pins "$setup/requirements-torch.txt")"
    want="${want% }" what="${want%% *}" # torch itself stands first
    if [ -n "${LOCKSTEP_TORCH:-}" ]; then
        torch="$LOCKSTEP_TORCH"
        [ -e "$torch/lib/libtorch_cpu.so" ] || torch="$torch/torch" # as site-packages holds it
        [ -e "$torch/lib/libtorch_cpu.so" ] ||
            stop 2 "LOCKSTEP_TORCH=$LOCKSTEP_TORCH holds no lib/libtorch_cpu.so; name the folder of the torch package," \
                "or unset it to have torch installed into .venv"
        say libtorch "LOCKSTEP_TORCH=$LOCKSTEP_TORCH" "$begun"
        return
    fi
    if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
        torch="$(torch_of python3)"
        if [ -n "$torch" ]; then
            say libtorch "this machine's own PyTorch, $torch" "$begun"
            return
        fi
        install_torch "$what" "$want" "$stamp"
    fi
    torch="$(torch_of "$root/.venv/bin/python")"
    if [ -z "$torch" ]; then # the folder was damaged after it was stamped
        rm -f "$stamp"
        install_torch "$what" "$want" "$stamp"
        torch="$(torch_of "$root/.venv/bin/python")"
        [ -n "$torch" ] || stop 1 "$what installed but not found in .venv; remove .venv and start again"
    fi
    say libtorch "$what in .venv" "$begun"
}

# Without a stamp the folder is half-made: pip finishes what is missing, and when that fails it is made anew.
install_torch() { # install_torch NAME PINS STAMP
    local try free
    free="$(df -Pk "$root" | awk 'NR == 2 {print int($4 / 1000000)}')"
    [ -d "$root/.venv" ] || [ "$free" -ge 8 ] ||
        stop 2 "$1 and its CUDA libraries need 8 GB in $root, which has $free GB left; free some, or name an installed" \
            "one by LOCKSTEP_TORCH"
    for try in finish anew; do
        [ "$try" = finish ] || rm -rf "$root/.venv"
        if [ ! -x "$root/.venv/bin/pip" ] || ! "$root/.venv/bin/python" -c '' 2>/dev/null; then
            python3 -m venv --clear "$root/.venv" >"$cache/venv.log" 2>&1 ||
                stop 1 "python3 -m venv failed, see .cache/setup/venv.log; is python3-venv installed?"
        fi
        if long_step libtorch "installing $1 and its CUDA libraries into .venv (4.6 GB)" \
            "$root/.venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off \
            --require-hashes --no-deps -r "$setup/requirements-torch.txt" && [ -n "$(torch_of "$root/.venv/bin/python")" ]; then
            echo "$2" >"$3"
            return
        fi
    done
    stop 1 "$1 could not be installed; check the network or pip's settings, or name a folder by LOCKSTEP_TORCH"
}

# The second line of LibTorch (CUDA 12.6: Volta, older drivers), beside the one above: sets `line` to its version and
# `line_torch` to its folder. `gpu` brings what it needs for a GPU too; else it is built for CPU devices only.
# Only headers and libraries are wanted, so the wheel may be of any Python.
ensure_line() { # ensure_line [gpu]
    local begun="${EPOCHREALTIME//[!0-9]/}" folder want file files=("$setup/requirements-torch-2.7.txt")
    line="$(sed -n 's/^torch==\([^ ]*\).*/\1/p' "${files[0]}")"
    folder="$root/.cache/lines/$line"
    line_torch="$folder/torch"
    if [ "${1:-}" = gpu ] || grep -qs cudnn "$folder/stamp"; then
        files+=("$setup/requirements-torch-2.7-gpu.txt")
    fi
    want="$(pins "${files[@]}")"
    if [ "$(cat "$folder/stamp" 2>/dev/null)" != "$want" ] || [ ! -e "$line_torch/lib/libtorch_cpu.so" ]; then
        rm -rf "$folder"
        mkdir -p "$folder"
        [ -x "$root/.cache/lines/pip/bin/pip" ] || python3 -m venv --clear "$root/.cache/lines/pip" >"$cache/venv.log" 2>&1 ||
            stop 1 "python3 -m venv failed, see .cache/setup/venv.log; is python3-venv installed?"
        set --
        for file in "${files[@]}"; do set -- "$@" -r "$file"; done
        long_step line "installing torch==$line into .cache/lines" "$root/.cache/lines/pip/bin/python" -m pip install \
            --disable-pip-version-check --progress-bar off --require-hashes --no-deps --only-binary=:all: --python-version 3.12 \
            --target "$folder" "$@" ||
            stop 1 "torch==$line could not be installed; check the network or pip's settings"
        echo "$want" >"$folder/stamp"
    fi
    say line "torch==$line in .cache/lines" "$begun"
}

# ---- the tools that look at the code ---------------------------------------------------------------------------

ensure_lint_tools() { # sets `lint` to the folder of clang-format and clang-tidy, or to nothing
    local stamp="$root/.cache/lint/stamp" want begun="${EPOCHREALTIME//[!0-9]/}"
    want="$(pins "$setup/requirements-lint.txt")"
    lint="$root/.cache/lint/bin"
    if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
        rm -rf "$root/.cache/lint"
        if ! { python3 -m venv "$root/.cache/lint" >"$cache/venv.log" 2>&1 &&
            long_step lint "installing ${want% }" "$root/.cache/lint/bin/python" -m pip install \
                --disable-pip-version-check --progress-bar off --require-hashes --no-deps -r "$setup/requirements-lint.txt"; }; then
            say lint "not installed: the checks of format and of clang-tidy will be skipped" "$begun"
            lint=""
            return
        fi
        echo "$want" >"$stamp"
    fi
    say lint "${want% }" "$begun"
}

# ---- Python's own programs that tests compare with ---------------------------------------------------------------

ensure_peers() { # sets `peers` to a Python that has torch and what requirements-peers.txt lists, or to nothing
    local folder="$root/.cache/peers" want begun="${EPOCHREALTIME//[!0-9]/}"
    want="$torch $(pins "$setup/requirements-peers.txt")"
    peers="$folder/bin/python"
    if [ "$(cat "$folder/stamp" 2>/dev/null)" != "$want" ]; then
        rm -rf "$folder"
        if ! { python3 -m venv "$folder" >"$cache/venv.log" 2>&1 &&
            dirname "$torch" >"$(echo "$folder"/lib/python3*/site-packages)/torch.pth" &&
            long_step peers "installing torchvision, TensorBoard, transformers and Lightning for the tests" "$peers" -m pip install --no-deps \
                --require-hashes --disable-pip-version-check --progress-bar off -r "$setup/requirements-peers.txt"; }; then
            say peers "not installed: tests against Python's programs will be skipped" "$begun"
            peers=""
            return
        fi
        echo "$want" >"$folder/stamp"
    fi
    cp "$root/tests/python/collect_seldom.pth" "$folder"/lib/python3*/site-packages/
    say peers "torchvision, TensorBoard, transformers, Lightning, Accelerate" "$begun"
}

# ---- configuring and building ----------------------------------------------------------------------------------

jobs() {
    local cores free
    cores="$(nproc)"
    free="$(awk '/MemAvailable/ {print int($2 / 1500000)}' /proc/meminfo)" # a torch unit takes up to 1.5 GB
    [ "$free" -ge 1 ] || free=1
    echo $((cores < free ? cores : free))
}

configure() { # configure FOLDER OPTION...: only when the options differ from last time; ninja sees the rest
    local folder="$1" options
    shift
    options="$*"
    if [ -f "$folder/build.ninja" ] && [ "$(cat "$folder/lockstep-options" 2>/dev/null)" = "$options" ]; then
        return
    fi
    rm -f "$folder/lockstep-options"
    long_step configure "${folder#"$root"/}" cmake -G Ninja -S "$root" -B "$folder" -DCMAKE_BUILD_TYPE=Release "$@" ||
        exit 1
    echo "$options" >"$folder/lockstep-options"
}

build() { # build FOLDER [TARGET...]
    local folder="$1"
    shift
    NINJA_STATUS='[%f/%t] ' long_step build "${folder#"$root"/}" ninja -C "$folder" -j "$(jobs)" "$@" || exit 1
}

# One set-up at a time in one folder.
lock_setup() {
    exec 9>"$cache/lock"
    if ! flock -n 9; then
        say wait "another ./run or ./test sets this folder up"
        flock 9
    fi
}

unlock_setup() { exec 9>&-; }

# A CPU-only PyTorch has no libtorch_cuda; one that came by itself may lack the headers that cuda_runtime.h includes.
builds_for_cuda() { # builds_for_cuda TORCH
    local folder crt=no target=no
    [ -e "$1/lib/libtorch_cuda.so" ] || return 1
    for folder in "$1"/../nvidia/cu*/include "${CUDA_HOME:-/usr/local/cuda}/include" /usr/include; do
        [ ! -e "$folder/crt/host_config.h" ] || crt=yes
        [ ! -e "$folder/nv/target" ] || target=yes
        [ "$crt$target" != yesyes ] || return 0
    done
    say libtorch "its CUDA headers are not complete, so the trainer is built for CPU devices only"
    return 1
}

# The one build folder of ./run and ./test. `tests` switches the tests on; `keep` leaves them as they were, so that
# the two commands do not undo each other's configuration.
configure_all() { # configure_all tests|keep
    local tests=OFF cuda=OFF
    if [ "$1" = tests ] || grep -qs '^LOCKSTEP_TESTS:BOOL=ON' "$root/build/CMakeCache.txt"; then
        tests=ON
    fi
    ! builds_for_cuda "$torch" || cuda=ON
    configure "$root/build" -DLOCKSTEP_TORCH_DIR="$torch" -DLOCKSTEP_CUDA=$cuda \
        -DLOCKSTEP_LINT="${lint-$root/.cache/lint/bin}" -DLOCKSTEP_PEERS="${peers-$root/.cache/peers/bin/python}" \
        -DLOCKSTEP_TESTS=$tests -DLOCKSTEP_BENCH=$tests
}

# The trainer of the second line with its agent, in build/lines/VERSION: what CMake's preset `line-2.7` makes.
build_line() { # build_line tests|keep: as configure_all has it
    local cuda=OFF tests=OFF targets=(lockstep-agent lockstep-trainer lockstep-trainer-launcher)
    if [ "$1" = tests ] || grep -qs '^LOCKSTEP_TESTS:BOOL=ON' "$root/build/lines/$line/CMakeCache.txt"; then
        tests=ON
    fi
    [ "$1" != tests ] || targets+=(trainer_tests)
    # A toolkit of this machine is of another CUDA: only the line's own will do.
    if [ -d "$line_torch/../nvidia/cudnn" ] && builds_for_cuda "$line_torch"; then
        cuda=ON
    fi
    configure "$root/build/lines/$line" -DLOCKSTEP_TORCH_DIR="$line_torch" -DLOCKSTEP_CUDA=$cuda -DLOCKSTEP_APP=OFF \
        -DLOCKSTEP_BENCH=OFF -DLOCKSTEP_TESTS=$tests
    build "$root/build/lines/$line" "${targets[@]}"
}
