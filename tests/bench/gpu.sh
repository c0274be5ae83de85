#!/bin/bash
# The trainer's GPU tests and benchmarks from one command, on a machine that has a GPU, PyTorch 2.11 (the wheel), g++, CMake and
# ninja, and perhaps no network. No Qt is needed: only ipc, trainer and agent are built.
#
#   tests/bench/gpu.sh --pack DIR       beforehand, where the distribution's packages are: headers, libraries and images for a
#                                       machine that lacks them (some 50 MB)
#   tests/bench/gpu.sh [--with DIR] [build] [test] [bench]    there; all three when none is named
#
# REPEATS=5, BUILD=build-gpu and PYTHON=python3 may be set. Without a GPU the tests and rows say that they were not run.
set -euo pipefail
cd "$(dirname "$0")/../.."

# cmake/, packaging/setup/packages.txt: what these three rooms and their tests include and link.
packages="libspdlog-dev libfmt-dev nlohmann-json3-dev libcli11-dev libexpected-dev libsimdjson-dev libgloo-dev zlib1g-dev
          libssl-dev doctest-dev libbenchmark-dev"

pack() {
    mkdir -p "$1"
    local to file real
    to=$(realpath "$1")
    for package in $packages; do
        dpkg -s "$package" >/dev/null 2>&1 || { echo "gpu.sh: $package is not installed here; ./run --setup installs it" >&2; exit 1; }
        dpkg -L "$package"
    done | while read -r file; do
        case $file in
        */libcrypto.a | */libssl.a | */libgloo*.a | */share/doc/* | */share/man/* | */share/lintian/*) continue ;;
        /usr/include/* | /usr/lib/* | /usr/share/*cmake*) ;;
        *) continue ;;
        esac
        [ -d "$file" ] && [ ! -L "$file" ] && continue
        real=$(readlink -f "$file")
        echo "$file"
        case $file in # a library's own file, and the name that programs ask for
        *.so) printf '%s\n' "${real%%.so*}".so.* ;;
        esac
    done | sort -u | sed 's,^/,,' | tar -C / -cf - -T - | tar -C "$to" -xf -
    mkdir -p "$to/home/data/fashion-mnist"
    cp /usr/share/datasets/fashion-mnist/*.gz "$to/home/data/fashion-mnist"
    du -sh "$to"
}

with=
steps=()
while [ $# -gt 0 ]; do
    case $1 in
    --pack) pack "${2:?gpu.sh: --pack wants a folder}"; exit ;;
    --with) with=$(realpath "${2:?gpu.sh: --with wants the folder that --pack made}"); shift ;;
    build | test | bench) steps+=("$1") ;;
    *) echo "gpu.sh: $1 is unknown; give build, test or bench, or --pack DIR" >&2; exit 2 ;;
    esac
    shift
done
[ ${#steps[@]} -gt 0 ] || steps=(build test bench)
python=$(command -v "${PYTHON:-python3}")
build=${BUILD:-build-gpu}
data=/usr/share/datasets/fashion-mnist
if [ -n "$with" ]; then
    data=$with/home/data/fashion-mnist
    export LOCKSTEP_HOME="$with/home" # its libraries are found by the programs' own paths: Python keeps the system's
fi

build() {
    local here=()
    [ -z "$with" ] || here=("-DCMAKE_PREFIX_PATH=$with/usr" "-DOPENSSL_ROOT_DIR=$with/usr" "-DZLIB_ROOT=$with/usr")
    cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_APP=OFF -DLOCKSTEP_CUDA=ON -DLOCKSTEP_TESTS=ON \
        -DLOCKSTEP_BENCH=ON "-DLOCKSTEP_PEERS=$python" ${LOCKSTEP_TORCH_DIR:+"-DLOCKSTEP_TORCH_DIR=$LOCKSTEP_TORCH_DIR"} "${here[@]}"
    cmake --build "$build" --target lockstep-trainer lockstep-agent trainer_tests bench_loader all_reduce_after
}

run_tests() {
    "$build/bin/trainer_tests" --test-suite=cuda,graphed,comm_times --no-skipped-summary=true
}

bench() {
    "$python" tests/bench/trainer_vs_python.py gpu --bin "$build/bin" --python "$python" --data "$data" \
        --repeats "${REPEATS:-5}" --write
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo "gpu.sh: no GPU here"
for step in "${steps[@]}"; do
    case $step in
    build) build ;;
    test) run_tests ;;
    bench) bench ;;
    esac
done
