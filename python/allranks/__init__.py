# SPDX-License-Identifier: BSD-3-Clause
"""allranks: the profiler for Python programs that run under MPI.

    mpiexec -n 64 python -m allranks heat.py --steps 1000
    allranks report heat.allranks
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from allranks._profile import Profile, run, runctx

__version__ = "0.1.0"
__all__ = ["Profile", "__version__", "run", "runctx"]


def __getattr__(name: str) -> object:
    """What not every program needs is loaded by the first that asks: a start on many ranks opens no file in vain."""
    if name in ("Profile", "run", "runctx"):
        from allranks import _profile

        globals().update(Profile=_profile.Profile, run=_profile.run, runctx=_profile.runctx)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
