# SPDX-License-Identifier: BSD-3-Clause
"""Runs a script under hooks that do nothing: run_floor.py DIRECTORY SCRIPT [ARGUMENTS]; see floor.c."""

import runpy
import sys


def main():
    sys.path.insert(0, sys.argv[1])
    import floor

    del sys.path[0], sys.argv[:2]
    floor.python_functions()
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
