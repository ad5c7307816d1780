# SPDX-License-Identifier: BSD-3-Clause
"""A drop-in for scorep._bindings, the bindings' module in C++."""

from __future__ import annotations

import os

from allranks.compat.scorep import _recorder
from allranks.compat.scorep.instrumenter import Instrumenter
from allranks.compat.scorep.user import parameter_int, parameter_string, parameter_uint

__all__ = [
    "CInstrumenter",
    "abspath",
    "disable_recording",
    "enable_recording",
    "force_finalize",
    "get_experiment_dir_name",
    "parameter_int",
    "parameter_string",
    "parameter_uint",
    "region_begin",
    "region_end",
    "reregister_exit_handler",
    "rewind_begin",
    "rewind_end",
    "try_region_begin",
    "try_region_end",
]

_instrumenter = Instrumenter()

region_begin = _instrumenter.region_begin
region_end = _instrumenter.region_end
try_region_begin = _instrumenter.try_region_begin
try_region_end = _instrumenter.try_region_end
rewind_begin = _instrumenter.rewind_begin
rewind_end = _instrumenter.rewind_end
force_finalize = _instrumenter.force_finalize
reregister_exit_handler = _instrumenter.reregister_exit_handler
abspath = os.path.abspath


def enable_recording() -> None:
    _recorder.resume()


def disable_recording() -> None:
    _recorder.pause()


def get_experiment_dir_name() -> str:
    """The one that SCOREP_EXPERIMENT_DIRECTORY names; empty: the name is made at the end."""
    return os.path.abspath(os.environ["SCOREP_EXPERIMENT_DIRECTORY"]) if os.environ.get("SCOREP_EXPERIMENT_DIRECTORY") else ""


class CInstrumenter(Instrumenter):
    def __init__(self, interface: str) -> None:
        if interface not in ("Profile", "Trace"):
            raise TypeError('Expected "Trace" or "Profile" for interface')
        self.interface = interface
