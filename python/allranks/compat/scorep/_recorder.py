# SPDX-License-Identifier: BSD-3-Clause
"""What the drop-in for Score-P asks of the recording. All of it does nothing where there is none.

Regions get the names that the bindings give them, `user:NAME`; exports for Score-P's tools take a name with a colon as it is
(src/analysis/scorep_names.h), and of one that begins with a colon the rest.
"""

from __future__ import annotations

import os
import sys

try:
    from allranks import _runtime
except ImportError:  # built for another Python
    from allranks import _unrecorded as _runtime  # type: ignore[no-redef]

functions_are_on = _runtime.functions_are_on
functions_off = _runtime.functions_off
functions_on = _runtime.functions_on
is_recording = _runtime.is_recording
note_parameter = _runtime.parameter
region = _runtime.region

# ---- regions ----

_regions: dict[str, region] = {}  # by name; of region_begin and region_end


def begin(name: str) -> None:
    known = _regions.get(name)
    if known is None:
        known = _regions.setdefault(name, region(name))
    known.__enter__()


def end(name: str) -> None:
    known = _regions.get(name)
    if known is None:
        known = region(name)
    if not _runtime.end_region(known):
        _report_end_without_begin(name)


_has_reported = False
_error_region = region(":error_region")


def _report_end_without_begin(name: str) -> None:
    """As the bindings do: in the trace, and the first one on standard error."""
    global _has_reported
    with _error_region:
        note_parameter("leave-region", name)
    if _has_reported:
        return
    _has_reported = True
    os.write(
        2,
        b"SCOREP_BINDING_PYTHON ERROR: There was a region exit without an enter!\n"
        b'SCOREP_BINDING_PYTHON ERROR: For details look for "error_region" in the trace or profile.\n',
    )


# ---- regions that may be taken back ----

# Where they began in the trace, by thread and name; the innermost last. A thread's trace begins with its first event, so that
# there may be no place in front of a region, but one inside.
_places: dict[tuple[int, str], list[tuple[int, bool]]] = {}


def begin_rewind(name: str) -> None:
    from _thread import get_ident

    if not is_recording():
        return
    place = _runtime.trace_place()
    begin(":" + name)
    _places.setdefault((get_ident(), name), []).append((place or _runtime.trace_place(), not place))


def end_rewind(name: str, takes_back: bool) -> None:
    from _thread import get_ident

    if not is_recording():
        return
    places = _places.get((get_ident(), name))
    if not places:
        _report_end_without_begin(name)
        return
    place, is_inside = places.pop()
    if takes_back and is_inside:
        _runtime.trace_take_back(place)
    end(":" + name)
    if takes_back and not is_inside:
        _runtime.trace_take_back(place)


# ---- recording as a whole ----

_is_paused = False


def pause() -> None:
    global _is_paused
    if not _is_paused:
        _is_paused = True
        _runtime.pause()


def resume() -> None:
    global _is_paused
    if _is_paused:
        _is_paused = False
        _runtime.resume()


def _is_in_mpi() -> bool:
    mpi = sys.modules.get("mpi4py.MPI")
    return bool(mpi and mpi.Is_initialized() and not mpi.Is_finalized())


def finish() -> None:
    """Nothing is recorded any more. Ranks meet in MPI_Finalize, so with MPI the files are made there."""
    launch = sys.modules.get("allranks._launch")
    if not is_recording() or launch is None:
        return
    if _is_in_mpi():
        _runtime.pause()  # never to be resumed
    else:
        launch.finish_now()
