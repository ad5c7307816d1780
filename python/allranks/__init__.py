# SPDX-License-Identifier: BSD-3-Clause
"""allranks: the profiler for Python programs that run under MPI.

    mpiexec -n 64 python -m allranks heat.py --steps 1000
    allranks report heat.allranks

What such a run left is data, too:

    run = allranks.load("heat.allranks")
    run.functions
"""

__version__ = "0.1.0"
__all__ = ["LoadError", "Run", "Table", "__version__", "load"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from allranks._load import LoadError, Run, Table, load

# Where a name comes from. A program that is recorded has this module, and pays for nothing else.
_LAZY = {
    "LoadError": "_load",
    "Run": "_load",
    "Table": "_load",
    "load": "_load",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
