#!/bin/bash
# SPDX-License-Identifier: MIT
# The trainer's GPU tests and benchmarks from one command, on a machine that has a GPU, PyTorch 2.11 (the wheel), g++, CMake and
# ninja, and perhaps no network. No Qt is needed: only ipc, trainer and agent are built.
#
#   tests/bench/gpu.sh --pack DIR       beforehand, where the distribution's packages are: headers, libraries and images for a
#                                       machine that lacks them (some 50 MB)
#   tests/bench/gpu.sh [--with DIR] [build] [test] [bench] [verdict]    there; all four when none is named
#
# `verdict` makes the runs of lenet-why-faster that need no Python, in gpu-verdict/ of the build folder: where lockstepctl is,
# `LOCKSTEP_HOME=gpu-verdict lockstepctl compare $(ls gpu-verdict/runs)` judges them. DEVICE=cpu tries it without a GPU.
#
# REPEATS=5, BUILD=build-gpu, PYTHON=python3, MORE (options of the verdict's runs) and COMMIT (where the sources came without git) may
# be set; with OUT the table, the tests' words and the runs are put there, too. On 16 cores build and test take about three minutes, bench
# ten and verdict six at 5 repeats. A test that fails keeps nothing else from being done; the exit code reports it at the end. Without a GPU
# the tests and rows say that they were not run.
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
    find "$to/usr/lib" -type l -lname '/*' | while read -r file; do # /lib is another machine's there
        ln -sfn "$(basename "$(readlink "$file")")" "$file"
    done
    # What is included from <openssl/…> without the architecture's folder, and parts of CUDA that PyTorch's own wheels leave out.
    cp -a "$to"/usr/include/*-linux-gnu/. "$to/usr/include/"
    real=$(find -L .venv/lib -path '*/nvidia/cu*/include/crt/host_config.h' -print -quit)
    [ -n "$real" ] || { echo "gpu.sh: .venv has no CUDA headers; ./run --setup installs them" >&2; exit 1; }
    real=$(dirname "$(dirname "$real")")
    cp -a "$real/crt" "$real/nv" "$to/usr/include/"
    mkdir -p "$to/home/data/fashion-mnist"
    cp /usr/share/datasets/fashion-mnist/*.gz "$to/home/data/fashion-mnist"
    du -sh "$to"
}

with=
failed=0
steps=()
while [ $# -gt 0 ]; do
    case $1 in
    --pack) pack "${2:?gpu.sh: --pack wants a folder}"; exit ;;
    --with) with=$(realpath "${2:?gpu.sh: --with wants the folder that --pack made}"); shift ;;
    build | test | bench | verdict) steps+=("$1") ;;
    *) echo "gpu.sh: $1 is unknown; give build, test, bench or verdict, or --pack DIR" >&2; exit 2 ;;
    esac
    shift
done
[ ${#steps[@]} -gt 0 ] || steps=(build test bench verdict)
python=$(command -v "${PYTHON:-python3}")
build=${BUILD:-build-gpu}
data=/usr/share/datasets/fashion-mnist
if [ -n "$with" ]; then
    data=$with/home/data/fashion-mnist
    export LOCKSTEP_HOME="$with/home" # its libraries are found by the programs' own paths: Python keeps the system's
fi

build() {
    local here=()
    # RPATH and not RUNPATH: the packed libraries' own dependencies are in no folder of the system's either.
    [ -z "$with" ] || here=("-DCMAKE_PREFIX_PATH=$with/usr" "-DOPENSSL_ROOT_DIR=$with/usr" "-DZLIB_ROOT=$with/usr"
        "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags")
    cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_APP=OFF -DLOCKSTEP_CUDA=ON -DLOCKSTEP_TESTS=ON \
        -DLOCKSTEP_BENCH=ON "-DLOCKSTEP_PEERS=$python" ${LOCKSTEP_TORCH_DIR:+"-DLOCKSTEP_TORCH_DIR=$LOCKSTEP_TORCH_DIR"} "${here[@]}"
    if [ -n "$with" ]; then # where lockstep-agent looks for libraries that came along
        mkdir -p "$build/lib"
        ln -sfn "$with"/usr/lib/*-linux-gnu "$build/lib/lockstep"
    fi
    cmake --build "$build" --target lockstep-trainer lockstep-agent trainer_tests bench_loader all_reduce_after
}

run_tests() {
    local log="$build/gpu-tests.log"
    "$python" -c 'import torch; torch.zeros(1, device="cuda")' 2>/dev/null || true # gigabytes of libraries, read once
    "$build/bin/trainer_tests" --test-suite=cuda,graphed,comm_times --no-skipped-summary=true 2>&1 | tee "$log" || failed=1
    # Unchanged Python scripts, followed by events.
    "$python" -B tests/python/auto_test.py "$build/bin" OnAGpu 2>&1 | tee -a "$log" || failed=1
    [ -z "${OUT:-}" ] || cp "$log" "$OUT"
    if nvidia-smi -L 2>/dev/null | grep -q UUID && grep -q "skipped: no GPU" "$log"; then
        echo "gpu.sh: nvidia-smi names a GPU, but the trainer found none; \"$build/bin/lockstep-trainer --device cuda\" says why" >&2
        failed=1
    fi
}

bench() {
    "$python" tests/bench/trainer_vs_python.py gpu --bin "$build/bin" --python "$python" --data "$data" \
        --repeats "${REPEATS:-5}" --write || failed=1
    [ -z "${OUT:-}" ] || cp docs/benchmarks/trainer.md "$OUT"
    if nvidia-smi -L 2>/dev/null | grep -q UUID; then # what following an unchanged Python script costs there
        "$python" tests/bench/follow_cost.py "$build/bin" "$python" --device cuda | tee "$build/follow-cost.txt" || failed=1
        [ -z "${OUT:-}" ] || cp "$build/follow-cost.txt" "$OUT"
    fi
}

verdict() {
    local device=${DEVICE:-cuda} home="$build/gpu-verdict" repeat name options
    [ "$device" = cpu ] || nvidia-smi -L 2>/dev/null | grep -q UUID || { echo "gpu.sh: verdict: not run: no GPU"; return; }
    for repeat in $(seq "${REPEATS:-5}"); do
        while read -r options; do
            name=${options%%:*} options=${options#*:}
            # shellcheck disable=SC2086 # words of a table below
            LOCKSTEP_HOME="$home" "$build/bin/lockstep-agent" run --name "$name" --recipe lenet-why-faster --repeat "$repeat" -- \
                "$build/bin/lockstep-trainer" --device "$device" --data-dir "$data" --epochs 3 $options ${MORE:-} >/dev/null </dev/null ||
                failed=1
        done <<<"item loader, 0 workers: --loader item --augment affine
item loader, 4 workers: --loader item --augment affine --workers 4
item loader, no affine: --loader item
item loader, DDP on 1 device: --loader item --augment affine --method ddp
batch loader, 0 workers: --loader batch --augment affine
batch loader, 4 workers: --loader batch --augment affine --workers 4
device loader: --loader device --augment affine
device loader, CUDA graphs: --loader device --augment affine$([ "$device" = cpu ] || echo ' --cuda-graph')"
    done
    echo "$(find "$home/runs" -name result.json | wc -l) runs in $home"
    [ -z "${OUT:-}" ] || tar -C "$build" -czf "$OUT/gpu-verdict.tar.gz" gpu-verdict
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo "gpu.sh: no GPU here"
for step in "${steps[@]}"; do
    case $step in
    build) build ;;
    test) run_tests ;;
    bench) bench ;;
    verdict) verdict ;;
    esac
done
exit "$failed"
