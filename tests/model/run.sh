#!/usr/bin/env bash
# Checks the order of stores of the live file, all of it, for a writer that does so many things; and that the model would
# notice: every variant with two stores or two loads swapped must be refuted.
#
#     tests/model/run.sh [EVENTS]
set -euo pipefail
events=${1:-3}
model=$(cd "$(dirname "$0")" && pwd)/livefile.pml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Says what spin found; MEMLIM is in megabytes.
search() {
    rm -f pan pan.* ./*.trail
    spin -a -DN_EVENTS="$events" "$@" "$model"
    cc -w -O1 -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c
    ./pan -m100000 >found
}

search
if ! grep -q 'errors: 0$' found || grep -q 'Search not completed' found; then
    cat found >&2
    # The steps that lead to it, one a line.
    if ls ./*.trail >/dev/null 2>&1; then ./pan -r -g >&2 || true; fi
    echo "model: the order of stores does not hold" >&2
    exit 1
fi
echo "model: the order of stores holds ($events events, $(awk '/states, stored/ { print $1 }' found) states)"

for swap in $(grep -o 'SWAP_[A-Z_]*' "$model" | sort -u | grep -v '_$'); do
    search -D"$swap"
    if ! grep -q 'assertion violated' found; then
        cat found >&2
        echo "model: $swap is not refuted, so the model proves nothing about it" >&2
        exit 1
    fi
    echo "model: $swap is refuted, as it should be"
done
