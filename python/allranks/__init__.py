# SPDX-License-Identifier: BSD-3-Clause
"""allranks: the profiler for Python programs that run under MPI.

    mpiexec -n 64 python -m allranks heat.py --steps 1000
    allranks report heat.allranks

In the program, where wanted (all of it does nothing when the program is not recorded):

    with allranks.region("assemble"): ...
    with allranks.paused(): ...
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from allranks._regions import instrument
    from allranks._runtime import is_recording, pause, paused, region, resume

__version__ = "0.1.0"
__all__ = ["__version__", "instrument", "is_recording", "pause", "paused", "region", "resume"]

# Where a name comes from when it is first asked for: a recorded program does not pay for what it does not use.
_LAZY = {
    "instrument": "_regions",
    "is_recording": "_runtime",
    "pause": "_runtime",
    "paused": "_runtime",
    "region": "_runtime",
    "resume": "_runtime",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'allranks' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module("allranks." + _LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
