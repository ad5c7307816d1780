# SPDX-License-Identifier: BSD-3-Clause
"""A drop-in for Score-P's Python bindings: what their README promises. See docs/scorep.md.

    python -m scorep --mpp=mpi script.py      an experiment directory: profile.cubex, traces.otf2, and the run file

    with scorep.user.region("name"): ...      a region of the recording
    with scorep.instrumenter.disable(): ...   functions are not recorded, regions and MPI calls are

Without a recording all of it does nothing.
"""

from __future__ import annotations

from allranks.compat.scorep import instrumenter, user

__version__ = "4.5.1"  # of the bindings: programs may ask for it
__all__ = ["__version__", "instrumenter", "user"]


def main() -> None:
    from allranks.compat.scorep._command import main

    main()
