# SPDX-License-Identifier: BSD-3-Clause
"""Names for the charges of a site: functions with a tenth of them or more, on any path and rank. What is smaller moves up to
its caller until a tenth is together: "`assemble` and the functions it calls", which is "assemble/*" here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from operations import Location, Path
from paths import Entry
from records import UNKNOWN

Site = tuple[Path, str]  # the call path and the kind of the call
LEAST_SHARE = 0.1
FEW = 4  # "main and all that it calls" says something only if it stands for more functions than this


def name_causes(charges: Mapping[Entry, float]) -> dict[tuple[Location | None, str], float]:
    least = LEAST_SHARE * sum(charges.values())
    if least <= 0:
        return {}
    functions: dict[str, float] = defaultdict(float)
    for entry, seconds in charges.items():
        if not entry.is_rest:
            functions[entry.path[-1]] += seconds
    large = {name for name, seconds in functions.items() if seconds >= least}
    small: dict[Path, float] = defaultdict(float)
    for entry, seconds in charges.items():
        if entry.is_rest or entry.path[-1] not in large:
            small[entry.path] += seconds
    homes = fold_up(small, least)
    found: dict[tuple[Location | None, str], float] = defaultdict(float)
    for entry, seconds in charges.items():
        is_large = not entry.is_rest and entry.path[-1] in large
        found[entry.location, entry.path[-1] if is_large else name_of(entry, homes[entry.path])] += seconds
    return dict(found)


def name_of(entry: Entry, home: Path) -> str:
    if home == UNKNOWN:
        return "?"
    if not entry.is_rest and home == entry.path:
        return home[-1]
    return (home[-1] if home else "") + "/*"


def fold_up(small: Mapping[Path, float], least: float) -> dict[Path, Path]:
    """The caller that each small path is named after, or the path itself."""
    homes: dict[Path, Path] = {}
    levels: dict[int, dict[Path, float]] = defaultdict(lambda: defaultdict(float))
    below: dict[Path, list[Path]] = defaultdict(list)
    for path, seconds in small.items():
        levels[len(path)][path] += seconds
        below[path].append(path)
    for depth in range(max(levels, default=0), -1, -1):
        for path, seconds in list(levels[depth].items()):
            if seconds >= least or depth <= 1:
                is_spread = seconds >= least and (depth > 1 or len(below[path]) > FEW)
                homes.update((each, path if is_spread else each) for each in below[path])
            else:
                levels[depth - 1][path[:-1]] += seconds
                below[path[:-1]].extend(below[path])
    return homes
