# SPDX-License-Identifier: BSD-3-Clause
"""Charges the difference of two paths: what the path of the late thread has more of than that of the waiting one.

The late side has positive amounts, the waiting side negative ones, and they add up to the wait. The negative ones are set off
against the positive ones, the most alike first, until only positive ones are left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import Callable

from paths import Entry, Work
from records import ANY_CALLERS, UNKNOWN

Side = dict[Entry, float]
Credits = dict[tuple[Entry, Entry], float]
TINY_S = 1e-12


def same_work(entry: Entry) -> Hashable:
    return entry._replace(is_cause=False)


def same_path(entry: Entry) -> Hashable:
    return entry._replace(location=None)


def function(entry: Entry) -> Hashable:
    return entry.path[-1] if entry.path else "", entry.is_rest


def function_and_cause(entry: Entry) -> Hashable:
    return entry.is_cause, function(entry)


def charge(late: Work, waiting: Work, wait: float) -> tuple[Side, Credits]:
    """Charges, which add up to the wait, and credits: what the waiting thread did instead."""
    pos, neg = split_by_sign(late, waiting, wait)
    most_pos = {**late.most, **waiting.most, **unbounded(pos)}
    most_neg = {**waiting.most, **late.most, **unbounded(neg)}
    for alike in (same_work, same_path, function_and_cause):
        set_off_alike(pos, neg, alike)
    use_credits(pos, neg, late, waiting)
    set_off_alike(pos, neg, function)
    pos_then, neg_then = dict(pos), dict(neg)
    callers = common_callers(pos, neg)
    for name in (*callers, None):
        set_off_rests(pos, neg, most_pos, most_neg, name)
    for caller in callers:
        set_off_in_proportion(pos, neg, caller)
    set_off_in_proportion(pos, neg, None)
    return pos, credits_of(pos_then, neg_then, pos)


def split_by_sign(late: Work, waiting: Work, wait: float) -> tuple[Side, Side]:
    pos: Side = {}
    neg: Side = {}
    for entry in {**late.seconds, **waiting.seconds}:
        difference = late.seconds.get(entry, 0.0) - waiting.seconds.get(entry, 0.0)
        if abs(difference) > TINY_S:
            (pos if difference > 0 else neg)[entry] = abs(difference)
    missing = wait - sum(pos.values()) + sum(neg.values())
    if abs(missing) > TINY_S:  # clocks that disagree, and lost records
        (pos if missing > 0 else neg)[Entry(None, UNKNOWN, True)] = abs(missing)
    return pos, neg


def unbounded(side: Side) -> dict[Entry, float]:
    return {entry: float("inf") for entry in side if entry.path == UNKNOWN}


def remove_tiny(*sides: Side) -> None:
    for side in sides:
        for entry in [entry for entry, seconds in side.items() if seconds < TINY_S]:
            del side[entry]


def sums_by(side: Side, group: Callable[[Entry], Hashable]) -> dict[Hashable, float]:
    sums: dict[Hashable, float] = defaultdict(float)
    for entry, seconds in side.items():
        sums[group(entry)] += seconds
    return sums


def set_off_alike(pos: Side, neg: Side, group: Callable[[Entry], Hashable]) -> None:
    """The oldest entries of a group are used up first: since then the two have met, and were not late."""
    have = sums_by(pos, group), sums_by(neg, group)
    common = {name: min(have[0][name], seconds) for name, seconds in have[1].items() if name in have[0]}
    if not common:
        return
    for side in (pos, neg):
        left = dict(common)
        for entry in list(side):
            name = group(entry)
            if name in left:
                part = min(side[entry], left[name])
                left[name] -= part
                side[entry] -= part
        remove_tiny(side)


def set_off_in_proportion(pos: Side, neg: Side, caller: str | None) -> None:
    """All entries below `caller` (None: anywhere), since it is not known which belongs to which."""
    below = [[entry for entry in side if caller is None or caller in entry.path] for side in (pos, neg)]
    sums = [sum(side[entry] for entry in entries) for side, entries in zip((pos, neg), below)]
    common = min(sums)
    if common <= 0:
        return
    for side, entries, total in zip((pos, neg), below, sums):
        for entry in entries:
            side[entry] *= 1 - common / total
        remove_tiny(side)


def common_callers(pos: Side, neg: Side) -> list[str]:
    """Functions that are on paths of both sides, the deepest first."""
    depths = depths_of(pos), depths_of(neg)
    found = [name for name in depths[0] if name in depths[1] and name not in (ANY_CALLERS, *UNKNOWN)]
    return sorted(found, key=lambda name: -max(depths[0][name], depths[1][name]))


def depths_of(side: Iterable[Entry]) -> dict[str, int]:
    depths: dict[str, int] = {}
    for entry in side:
        for i, name in enumerate(entry.path):
            depths[name] = max(depths.get(name, 0), i)
    return depths


# ---- rests ----


class Hidden:
    """What of one side may be contained in the rests of the other, which shrink by as much."""

    def __init__(self, rests: Side, most: dict[Entry, float], other: Side, name: str | None) -> None:
        def is_rest(entry: Entry) -> bool:
            return entry.is_rest and (name is None or entry.path[-1:] == (name,))

        own = [entry for entry in rests if is_rest(entry)]
        size = sum(rests[entry] for entry in own)
        self.bound = min(size, sum(most.get(entry, 0.0) for entry in own))
        self.entries = [entry for entry in other if (name is None or name in entry.path) and not is_rest(entry)]
        pool = sum(min(other[entry], self.bound) for entry in self.entries)
        used = min(pool, size)
        self.share = used / pool if used > 0 else 0.0
        for entry in own if used > 0 else ():
            rests[entry] *= 1 - used / size


def set_off_rests(pos: Side, neg: Side, most_pos: dict[Entry, float], most_neg: dict[Entry, float], name: str | None) -> None:
    """The rest of `name` may be anything below it that is small enough; with None any rest, and unknown time. If several
    pieces of the late side could be what the rest contains, none of them is named for that amount."""
    is_unknown = any(entry.path == UNKNOWN for entry in neg)
    hidden = Hidden(neg, most_neg, pos, name)
    for entry in hidden.entries if hidden.share else ():
        part = min(pos[entry], hidden.bound)
        pos[entry] -= part
        above = entry.path[: entry.path.index(name) + 1] if name else UNKNOWN if is_unknown else entry.path[:1]
        rest = Entry(entry.location, above, True, entry.is_cause)
        pos[rest] = pos.get(rest, 0.0) + part * (1 - hidden.share)
    hidden = Hidden(pos, most_pos, neg, name)
    for entry in hidden.entries if hidden.share else ():
        neg[entry] -= min(neg[entry], hidden.bound) * hidden.share
    remove_tiny(pos, neg)


# ---- credits ----


def use_credits(pos: Side, neg: Side, late: Work, waiting: Work) -> None:
    """Work that was done while a delay went by is on no path. Where the other side does the same later, it is that delay
    which makes the difference."""
    for (done, instead), seconds in waiting.credits.items():
        for entry in [entry for entry in pos if function(entry) == function(done)]:
            part = min(seconds, pos[entry])
            pos[entry] -= part
            pos[instead] = pos.get(instead, 0.0) + part
            seconds -= part
    for (done, instead), seconds in late.credits.items():
        for entry in [entry for entry in neg if function(entry) == function(done)]:
            part = min(seconds, neg[entry], pos.get(instead, 0.0))
            if part > 0:
                neg[entry] -= part
                pos[instead] -= part
                seconds -= part
    remove_tiny(pos, neg)


def credits_of(pos_then: Side, neg_then: Side, pos: Side) -> Credits:
    """Of what was set off although it was not alike: what the waiting thread did, and which cause it was set off against."""
    set_off = {entry: seconds - pos.get(entry, 0.0) for entry, seconds in pos_then.items() if not entry.is_rest}
    whole = sum(seconds for seconds in set_off.values() if seconds > 0)
    credits: Credits = {}
    for done, seconds in neg_then.items():
        for instead, part in set_off.items():
            if not done.is_rest and part > 1e-9 and whole > 0:
                credits[done, instead._replace(is_cause=True)] = min(seconds, whole) * part / whole
    return credits
