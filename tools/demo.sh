#!/usr/bin/env bash
# Profiles examples/heat.py on 4 ranks and shows the report:  tools/demo.sh .venv
#
# Every command is printed as it is run, so that it can be typed again, with the venv's bin on PATH. Works in a
# directory of its own, since `run` leaves its file where it is started.
set -euo pipefail

repo=$(cd "$(dirname "$0")/.." && pwd)
venv=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$repo/examples" "$work/examples"
cd "$work"
export PATH="$venv/bin:$PATH"

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

launch=(mpiexec)
if command -v mpiexec.openmpi >/dev/null; then
    launch=(mpiexec.openmpi)
fi
# Open MPI up to 4 calls its launcher OpenRTE.
if "${launch[0]}" --version 2>&1 | grep -qE 'Open MPI|OpenRTE'; then
    launch+=(--oversubscribe)
    if [ "$(id -u)" = 0 ]; then
        launch+=(--allow-run-as-root)
    fi
fi

run "${launch[@]}" -n 4 python -m allranks examples/heat.py
run allranks report heat.allranks
