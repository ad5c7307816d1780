# SPDX-License-Identifier: BSD-3-Clause
"""allranks: the profiler for Python programs that run under MPI.

    mpiexec -n 64 python -m allranks heat.py --steps 1000
    allranks report heat.allranks

What such a run left is data, too:

    run = allranks.load("heat.allranks")
    run.functions

In the program, where wanted (all of it does nothing when the program is not recorded):

    with allranks.region("assemble"): ...
    with allranks.paused(): ...
    allranks.functions_off(); allranks.functions_on()
    allranks.trace_on(); allranks.trace_off(); allranks.parameter("level", 3)

Without a run file, as cProfile does:

    with allranks.Profile() as profile: ...
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from allranks._load import LoadError, Run, Table, load
    from allranks._profile import Profile, run, runctx
    from allranks._regions import instrument
    from allranks._runtime import (
        functions_off,
        functions_on,
        is_recording,
        lines,
        parameter,
        pause,
        paused,
        region,
        resume,
        trace_off,
        trace_on,
    )

__version__ = "0.1.0"
__all__ = [
    "LoadError",
    "Profile",
    "Run",
    "Table",
    "__version__",
    "functions_off",
    "functions_on",
    "instrument",
    "is_recording",
    "lines",
    "load",
    "parameter",
    "pause",
    "paused",
    "region",
    "resume",
    "run",
    "runctx",
    "trace_off",
    "trace_on",
]

# Where a name comes from. A program that is recorded has this module, and pays for nothing else.
_LAZY = {
    "LoadError": "_load",
    "Profile": "_profile",
    "Run": "_load",
    "Table": "_load",
    "functions_off": "_runtime",
    "functions_on": "_runtime",
    "instrument": "_regions",
    "is_recording": "_runtime",
    "lines": "_runtime",
    "load": "_load",
    "parameter": "_runtime",
    "pause": "_runtime",
    "paused": "_runtime",
    "region": "_runtime",
    "resume": "_runtime",
    "run": "_profile",
    "runctx": "_profile",
    "trace_off": "_runtime",
    "trace_on": "_runtime",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def _module(name: str) -> object:
    # Not importlib: the program may never have imported it.
    try:
        return __import__(f"{__name__}.{name}", fromlist=[name])
    except ImportError:
        if name != "_runtime":
            raise
    return _module("_unrecorded")  # built for another Python: what the program asks for does nothing


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
