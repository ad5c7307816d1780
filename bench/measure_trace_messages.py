# SPDX-License-Identifier: BSD-3-Clause
"""Messages of a trace: what matching them takes, correcting clocks by them, and finding waits and the critical path.

    bench/measure_trace_messages.py [RANKS STEPS]

Three events per rank and step; seconds of one processor (trace_messages.c).
"""

from __future__ import annotations

import subprocess
import sys

from rounds import compiled

PARTS = ("base", "format", "analysis", "import")


def main() -> None:
    program = compiled("trace_messages", *PARTS)
    print(subprocess.run([program, *(sys.argv[1:] or ["256", "6500"])], check=True, capture_output=True, text=True).stdout, end="")


if __name__ == "__main__":
    main()
