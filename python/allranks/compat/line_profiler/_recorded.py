# SPDX-License-Identifier: BSD-3-Clause
"""What a recording has counted so far: the command reads the live file, as it does while any program runs."""

from __future__ import annotations

import os
import tempfile

from allranks.compat.line_profiler._line_profiler import LineStats, read

EMPTY = LineStats({}, 1e-9)


def lines_so_far() -> LineStats:
    """Empty where nothing is recorded, or nothing was counted."""
    from allranks import _launch, _runtime

    live = _runtime.live_file()
    if live is None:
        return EMPTY
    with tempfile.TemporaryDirectory(prefix="allranks-") as directory:
        target = os.path.join(directory, "lines.lprof")
        code, _ = _launch.run_command(["export", os.fsdecode(live), "-f", "lprof", "--quiet", "-o", target])
        return EMPTY if code else read(target)
