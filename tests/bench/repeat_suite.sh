#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs ./test again and again and prints a line a run: a test that fails now and then is found here.
#   tests/bench/repeat_suite.sh [TIMES] [BUSY] [ARGUMENT...]   TIMES runs (10), the last BUSY of them (4) beside a busy loop on each
#                                                              core; the arguments go to ./test
set -u
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
times="${1:-10}" busy="${2:-4}"
shift $(($# < 2 ? $# : 2))
logs="$root/build/repeat_suite"
mkdir -p "$logs"
loops=() failed=0
end_loops() {
    [ ${#loops[@]} -eq 0 ] || kill "${loops[@]}" 2>/dev/null
    loops=()
}
trap end_loops EXIT
for ((run = 1; run <= times; ++run)); do
    beside="nothing beside it"
    if ((run > times - busy)); then
        beside="a busy loop on each core beside it"
        for ((core = 0; core < $(nproc); ++core)); do
            (while :; do :; done) &
            loops+=($!)
        done
    fi
    begun=$SECONDS
    "$root/test" "$@" >"$logs/$run.log" 2>&1 </dev/null || failed=$((failed + 1))
    end_loops
    echo "run $run of $times, $beside: $(tail -n 1 "$logs/$run.log"), $((SECONDS - begun)) s"
    grep -E '^[[:space:]]*[0-9]+ - .*\((Failed|Timeout|SEGFAULT|Subprocess aborted|Not Run)' "$logs/$run.log"
done
echo "$((times - failed)) of $times runs passed; their output is in ${logs#"$root"/}"
[ "$failed" -eq 0 ]
