# SPDX-License-Identifier: BSD-3-Clause
"""allranks: the profiler for Python programs that run under MPI.

    mpiexec -n 64 python -m allranks heat.py --steps 1000
    allranks report heat.allranks
"""

__version__ = "0.1.0"
__all__ = ["__version__"]
