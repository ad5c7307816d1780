# SPDX-License-Identifier: BSD-3-Clause
"""The events of a trace as `allranks dump` prints them, and what holds of all of them."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import Sandbox, workload

# A unit of a trace is at most 4 ns, and both ends of a call are rounded down to one, and then to nanoseconds.
ROUNDING_NS = 6


@dataclass(frozen=True)
class Row:
    """A line of `dump --csv`."""

    ns: int
    process: int
    rank: int | None
    thread: int
    event: str
    implied: bool
    depth: int
    node: int | None
    function: str
    file: str
    line: int
    peer: int | None
    communicator: str
    tag: int
    sequence: int
    bytes_out: int
    bytes_in: int
    request: int
    parameter: str
    value: str

    @property
    def name(self) -> str:
        """Without what it is defined in: up to 3.10 a code object does not know that."""
        return self.function.rpartition(".")[2]


def row_of(words: list[str]) -> Row:
    def n(i: int) -> int:
        return int(words[i]) if words[i] else 0

    def maybe(i: int) -> int | None:
        return int(words[i]) if words[i] else None

    return Row(n(0), n(1), maybe(2), n(3), words[4], words[5] == "1", n(6), maybe(7), words[8], words[9], n(10), maybe(11),
               words[12], n(13), n(14), n(15), n(16), n(17), words[18], words[19])  # fmt: skip


HEAD = ("time_ns,process,rank,thread,event,implied,depth,node,function,file,line,peer,communicator,tag,sequence,"
        "bytes_out,bytes_in,request,parameter,value")  # fmt: skip
Thread = tuple[int, int]  # process and number


def read_dump(text: str) -> list[Row]:
    lines = csv.reader(text.splitlines())
    assert next(lines) == HEAD.split(",")
    return [row_of(words) for words in lines]


def dump(sandbox: Sandbox, run: str | Path, *options: str) -> list[Row]:
    """Of clocks that had to be moved there is a line, which is no fault."""
    done = sandbox.allranks("dump", "--csv", run, *options)
    complaints = [line for line in done.err.splitlines() if "clocks of ranks disagree" not in line]
    assert (done.code, complaints) == (0, []), (done.code, done.err)
    return read_dump(done.out)


def threads_of(rows: Iterable[Row]) -> dict[Thread, list[Row]]:
    threads: dict[Thread, list[Row]] = defaultdict(list)
    for row in rows:
        threads[row.process, row.thread].append(row)
    return threads


# ---- what holds of every trace ---------------------------------------------------------------------


def check_times(rows: list[Row]) -> None:
    """In the order of time, over all threads."""
    for before, after in zip(rows, rows[1:]):
        assert before.ns <= after.ns, (before, after)


def check_nesting(rows: list[Row]) -> None:
    """Of a thread: what is left was entered last, and all is left at the end."""
    stack: list[int | None] = []
    for row in rows:
        if row.event == "enter":
            assert row.depth == len(stack), row
            stack.append(row.node)
        elif row.event == "leave":
            assert stack and stack.pop() == row.node and row.depth == len(stack), row
        else:
            assert row.depth == len(stack) and row.node == (stack[-1] if stack else None), row
    assert stack == [], stack


def check_sound(rows: list[Row]) -> None:
    check_times(rows)
    for thread in threads_of(rows).values():
        check_nesting(thread)


TEXT = re.compile(r" *(\d+)\.(\d{9})  (.{10,}?) *([+-]| )(enter|leave|off|on|full|[a-z-]+)( .*|)$")


def check_text(sandbox: Sandbox, run: str | Path, rows: list[Row]) -> None:
    """The same events as text: time, what, and of whom."""
    lines = sandbox.answer("dump", run).decode().splitlines()
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows):
        found = TEXT.match(line)
        assert found, line
        assert int(found[1]) * 10**9 + int(found[2]) == row.ns, (line, row)
        assert (found[5], found[4] != " ") == (row.event, row.implied), (line, row)
        assert found[6].split("  ")[0].strip().startswith(row.function) or row.event not in ("enter", "leave"), (line, row)


# ---- beside the profile ----------------------------------------------------------------------------


def load(sandbox: Sandbox, run: str | Path) -> dict[str, Any]:
    done = sandbox.plain(workload("dump_run.py"), str(run), "python")
    assert done.code == 0, done
    return json.loads(done.out)


def values_of(data: dict[str, Any], metric: str) -> dict[tuple[int, int], Any]:
    """By node and thread."""
    table = data["values"][metric]
    return {(node, thread): value for node, thread, value in zip(table["node"], table["thread"], table[metric])}


def thread_ids(data: dict[str, Any]) -> dict[Thread, int]:
    pids = data["tables"]["processes"]["pid"]
    threads = data["tables"]["threads"]
    return {(pids[process], number): i for i, process, number in zip(threads["id"], threads["process"], threads["thread"])}


@dataclass
class Sum:
    calls: int = 0
    ns: int = 0
    is_cut: bool = False  # one began before the trace, or ended behind it


def add_up(rows: list[Row]) -> dict[int, Sum]:
    """Calls and time of each node, of one thread."""
    sums: dict[int, Sum] = defaultdict(Sum)
    stack: list[Row] = []
    for row in rows:
        if row.event == "enter":
            stack.append(row)
        elif row.event == "leave":
            entered = stack.pop()
            assert row.node is not None
            one = sums[row.node]
            one.calls += not entered.implied
            one.ns += row.ns - entered.ns
            one.is_cut |= entered.implied or row.implied
    return sums


def check_profile(data: dict[str, Any], rows: list[Row], may_lack: frozenset[str] = frozenset()) -> int:
    """Each call path has the calls and the time of the profile of the same run; kinds in `may_lack` may have fewer. Returns how many
    paths were compared.
    """
    ids, calls, times = thread_ids(data), values_of(data, "calls"), values_of(data, "time_s")
    tree = data["tables"]["tree"]
    n_compared = 0
    for thread, events in threads_of(rows).items():
        sums = add_up(events)
        for (node, number), n in calls.items():
            if number != ids[thread]:
                continue
            if tree["kind"][node] == "unassigned":
                continue  # time of others, and no call
            one, what = sums.get(node, Sum()), (tree["function"][node], node, thread)
            if tree["kind"][node] in may_lack:
                assert one.calls <= n, (what, one, n)
                continue
            assert one.calls == n or (one.is_cut and one.calls < n), (what, one, n)
            if not one.is_cut:
                slack = ROUNDING_NS * max(n, 1)
                assert abs(one.ns - 1e9 * times.get((node, number), 0)) <= slack, (what, one, times.get((node, number)))
                n_compared += 1
        known = {node for node, number in calls if number == ids[thread]}
        assert all(node in known or one.is_cut for node, one in sums.items() if one.calls), thread
    return n_compared


def check_paths(data: dict[str, Any], rows: list[Row]) -> None:
    """A node is the same in both: what it is called, and in what it lies."""
    tree = data["tables"]["tree"]
    for events in threads_of(rows).values():
        stack: list[int | None] = [None]
        for row in events:
            if row.event == "enter":
                assert row.node is not None
                parent = tree["parent"][row.node]
                assert (parent if parent is not None and parent >= 0 else None) == stack[-1], row
                if row.file:
                    assert (row.file, row.line) == (tree["function_file"][row.node], tree["function_line"][row.node]), row
                stack.append(row.node)
            elif row.event == "leave":
                stack.pop()
