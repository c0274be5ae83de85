#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes everything that reads what others say, with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer.
#   tests/fuzz/fuzz.sh [SECONDS | --executions N] [NAME...]
# SECONDS a target (300), or so many executions, shared out among the cores; one target after the other. NAME: frames, wire, log, peers,
# documents, words, store, data
# Needs clang 16 or newer with libFuzzer (Debian: clang-16 and libclang-rt-16-dev, for data also libomp-16-dev) and what ./run --setup
# installs. Inputs that reached something new stay in build-fuzz/corpus, so that the next time goes on from them. Prints a line a
# target, and exits with 1 when one was brought down: then the input's file is named, and belongs among the target's seeds in
# tests/fuzz/seeds, with a regression test.
set -u
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
folder="$root/build-fuzz"
seconds=300 executions=0
if [ "${1:-}" = --executions ] && [[ "${2:-}" =~ ^[1-9][0-9]*$ ]]; then
    executions="$2"
    shift 2
elif [[ "${1:-}" =~ ^[0-9]+$ ]]; then
    seconds="$1"
    shift
fi
names=("$@")
[ $# -gt 0 ] || names=(frames wire log peers documents words store data)
trainer=OFF app=OFF
for name in "${names[@]}"; do
    case "$name" in
    frames | wire | log | peers) ;;
    documents | words | store) app=ON ;;
    data) trainer=ON ;;
    *)
        echo "fuzz.sh: no target is called '$name'; there are frames, wire, log, peers, documents, words, store and data" >&2
        exit 2
        ;;
    esac
done
compiler=""
for version in $(seq 30 -1 16); do
    [ -n "$compiler" ] || compiler="$(command -v "clang++-$version")"
done
if [ -z "$compiler" ]; then
    echo "fuzz.sh: no clang++-16 or newer is in PATH: install clang-16 and libclang-rt-16-dev" >&2
    exit 2
fi
mkdir -p "$folder"
# The agent's library is part of every build; the trainer's needs the PyTorch that ./run has set up.
cmake -G Ninja -S "$root" -B "$folder" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLOCKSTEP_FUZZ=ON \
    -DLOCKSTEP_TESTS=ON -DLOCKSTEP_APP="$app" -DLOCKSTEP_TRAINER="$trainer" -DLOCKSTEP_BENCH=OFF >"$folder/build.log" 2>&1 &&
    ninja -C "$folder" "${names[@]/#/fuzz_}" >>"$folder/build.log" 2>&1 || {
    tail -n 20 "$folder/build.log" >&2
    echo "fuzz.sh: the build failed; its output is in $folder/build.log" >&2
    exit 1
}
failed=0
for name in "${names[@]}"; do
    corpus="$folder/corpus/$name" log="$folder/$name.log"
    mkdir -p "$corpus"
    seeds=("$root/tests/fuzz/seeds/$name")
    case "$name" in
    documents) seeds+=("$root/resources/recipes") ;;
    wire) seeds+=("$root/tests/fuzz/seeds/frames") ;;
    esac
    longest=8192
    [ "$name" != frames ] || longest=1024
    # detect_leaks: libtorch keeps what it allocated until the process ends
    options=(-max_len="$longest" -rss_limit_mb=4096 -timeout=20 -print_final_stats=1 -artifact_prefix="$folder/$name-")
    workers=1
    if [ "$executions" -gt 0 ]; then
        workers="$(nproc)"
        options+=(-runs="$(((executions + workers - 1) / workers))" -reload=30)
    else
        options+=(-max_total_time="$seconds")
    fi
    started=()
    for worker in $(seq "$workers"); do
        ASAN_OPTIONS=detect_leaks=$([ "$name" = data ] && echo 0 || echo 1) "$folder/bin/fuzz_$name" "${options[@]}" "$corpus" "${seeds[@]}" \
            >"$log.$worker" 2>&1 &
        started+=($!)
    done
    code=0
    for pid in "${started[@]}"; do
        wait "$pid" || code=$?
    done
    cat "$log".* >"$log"
    rm -f "$log".*
    tried="$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | awk '{ sum += $1 } END { print sum }')"
    rate="$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log" | awk '{ sum += $1 } END { print sum }')"
    if [ "$code" -eq 0 ]; then
        echo "$name: ${tried:-?} executions, ${rate:-?} a second, $(find "$corpus" -type f | wc -l) inputs kept, nothing found"
    else
        failed=1
        echo "$name: brought down after ${tried:-?} executions by $(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1); see $log"
    fi
done
exit "$failed"
