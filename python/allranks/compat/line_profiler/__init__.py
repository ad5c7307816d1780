# SPDX-License-Identifier: BSD-3-Clause
"""A drop-in for line_profiler: its decorator, its files and its viewer. See docs/line-profiler.md.

    @profile                                       under kernprof -l, or allranks run --as line_profiler
    def solve(): ...

    profiler = LineProfiler(solve)                 in the program, also without a recording
    profiler.runcall(solve)
    profiler.print_stats()

    python -m line_profiler script.py.lprof        the viewer
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from allranks.compat.line_profiler._line_profiler import LineStats
    from allranks.compat.line_profiler._text import show_func, show_text
    from allranks.compat.line_profiler._viewer import main
    from allranks.compat.line_profiler.explicit_profiler import profile
    from allranks.compat.line_profiler.ipython_extension import load_ipython_extension
    from allranks.compat.line_profiler.line_profiler import LineProfiler, load_stats

__version__ = "5.1.0"  # of line_profiler: programs may ask for it
__all__ = [
    "LineProfiler",
    "LineStats",
    "__version__",
    "load_ipython_extension",
    "load_stats",
    "main",
    "profile",
    "show_func",
    "show_text",
]

# Where a name comes from: `@profile` costs a program next to nothing until the profiler is used.
_LAZY = {
    "LineProfiler": "line_profiler",
    "LineStats": "_line_profiler",
    "load_ipython_extension": "ipython_extension",
    "load_stats": "line_profiler",
    "main": "_viewer",
    "profile": "explicit_profiler",
    "show_func": "_text",
    "show_text": "_text",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = __import__(f"allranks.compat.line_profiler.{_LAZY[name]}", fromlist=[name])
    value: object = getattr(module, name)
    globals()[name] = value
    return value
