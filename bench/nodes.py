# SPDX-License-Identifier: BSD-3-Clause
"""A program whose calling-context tree has as many nodes as it is asked for: nodes.py DEPTH [LIVE_DIR].

There are few functions but many ways to call them: a full binary tree of 2^(DEPTH + 1) - 1 nodes. Prints {"nodes",
"running", "ended", "live"}: how many, and in bytes the largest resident size up to the end of the program and up to the end of
the process, and the size of the live file.
"""

import os
import sys


def resident_bytes(open=open):
    """In bytes all along: at the very end there are no encodings any more."""
    with open("/proc/self/status", "rb") as status:
        for line in status:
            if line.startswith(b"VmHWM"):
                return int(line.split()[1]) * 1024


def level_0():
    pass


def define_levels(depth):
    """Of each level a function, which calls the one below from two places: a node more for each way to get there."""
    for level in range(1, depth + 1):
        below = f"level_{level - 1}"
        exec(f"def level_{level}():\n    {below}()\n    {below}()", globals())


def live_bytes(directory):
    """What the files take, not how long they say they are: room is not touched before it is needed."""
    files = [os.path.join(at, name) for at, _, names in os.walk(directory) for name in names]
    return sum(os.stat(file).st_blocks * 512 for file in files)


class LastWord:
    """Dies with this module, after all exit functions: what a profiler does then is part of its price."""

    def __init__(self, text):
        self.text = text.encode()

    def __del__(self, resident_bytes=resident_bytes, write=os.write):
        write(1, self.text % resident_bytes())


def main():
    depth = int(sys.argv[1])
    define_levels(depth)
    globals()[f"level_{depth}"]()
    live = live_bytes(sys.argv[2]) if len(sys.argv) > 2 else 0
    n_nodes = 2 ** (depth + 1) - 1
    return LastWord(
        f'{{"nodes": {n_nodes}, "running": {resident_bytes()}, "ended": %d, "live": {live}}}\n'
    )


if __name__ == "__main__":
    last_word = main()
