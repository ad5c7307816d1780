#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Prints a python that runs: $1 itself, or what pyenv has by that name (its shims only find the version
# that is switched on). Prints nothing where there is none.
runs() { "$1" -c pass >/dev/null 2>&1; }

if runs "$1"; then
    echo "$1"
    exit
fi
for python in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/"$1"; do
    runs "$python" && found=$python
done
echo "${found-}"
