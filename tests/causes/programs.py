# SPDX-License-Identifier: BSD-3-Clause
"""Programs with planted delays, each for one way in which waits arise, and balanced ones in which no rank is to be charged.

Of each it is known which function on which ranks its waits are to be charged to: the planted delays, unless `truth` says
otherwise, and the functions in `also`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from operations import Body, Comm, Program, Rank, Steps

Comms = Mapping[str, Comm]
PROGRAMS: dict[str, Program] = {}


def program(n_ranks: int = 4, **facts: Any) -> Callable[[Body], Body]:
    def keep(body: Body) -> Body:
        name, note = body.__name__, " ".join((body.__doc__ or "").split())
        PROGRAMS[name] = Program(name, n_ranks, body, note=note, **facts)
        return body

    return keep


@program()
def plain(me: Rank, comms: Comms) -> Steps:
    """Rank 3 takes longer in relax in each step; all ranks reduce."""
    for _ in range(20):
        yield me.work("main/step/relax", 0.05)
        if me.rank == 3:
            yield me.delay("main/step/relax", 0.04)
        yield me.work("main/step/norm", 0.02)
        yield me.allreduce(at="main/step")


@program(comms={"shuffled": (1, 3, 0, 2)}, family="communicators")
def shuffled_bcast(me: Rank, comms: Comms) -> Steps:
    """A communicator of all ranks in another order. Its root, rank 0 of the world and rank 2 there, reads the input."""
    for _ in range(4):
        yield me.work("main/compute", 0.10)
        if me.rank == 0:
            yield me.delay("main/read_input", 0.08)
        yield me.bcast(2, comms["shuffled"])


@program(comms={"keys": (2, 0, 3)}, family="communicators")
def scan_by_keys(me: Rank, comms: Comms) -> Steps:
    """A split with keys: ranks 2, 0, 3 in this order. The first rank there is late."""
    if me.rank != 1:
        for _ in range(4):
            yield me.work("main/count", 0.05)
            if me.rank == 2:
                yield me.delay("main/sort_first", 0.06)
            yield me.scan(comms["keys"])
    else:
        yield me.work("main/alone", 0.1)
    yield me.work("main/compute", 0.01)


@program(comms={"ring": (1, 3, 0, 2)}, family="communicators")
def merged_ring(me: Rank, comms: Comms) -> Steps:
    """Messages in a ring in another order than the world's. The second rank there is late."""
    ring = comms["ring"]
    own = ring.rank_of(me.rank)
    for step in range(4):
        yield me.work("main/compute", 0.05)
        if own == 1 and step % 2 == 0:
            yield me.delay("main/refine", 0.08)
        get = yield me.irecv((own - 1) % 4, ring)
        put = yield me.isend((own + 1) % 4, ring)
        yield me.wait(get, put)


@program(family="callers")
def two_mains(me: Rank, comms: Comms) -> Steps:
    """The same kernel below root_main and worker_main. The root also writes files."""
    top = "root_main" if me.rank == 0 else "worker_main"
    for _ in range(5):
        yield me.work(f"{top}/kernel", 0.10)
        if me.rank == 0:
            yield me.delay("root_main/write", 0.05)
        yield me.barrier(at=top)


@program(family="callers")
def solve_below_different_callers(me: Rank, comms: Comms) -> Steps:
    """Ranks reach solve by different paths and call different methods in it. One rank also checks."""
    top = ("coarse/solve", "fine/solve")[me.rank % 2]
    for _ in range(5):
        yield me.work(f"{top}/{('jacobi', 'gauss')[me.rank % 2]}", 0.08)
        yield me.work(f"{top}/dot/<sum>", 0.04)
        if me.rank == 2:
            yield me.delay("coarse/check/<sum>", 0.05)
        yield me.allreduce(at=top.split("/")[0])


@program(comms={"workers": (0, 1, 2)}, family="met before")
def met_in_between(me: Rank, comms: Comms) -> Steps:
    """The ranks that wait for rank 3 met each other before: the equal work before that meeting is no cause."""
    for _ in range(4):
        yield me.work("main/relax", 0.10)
        if me.rank < 3:
            yield me.barrier(comms["workers"])
        yield me.work("main/relax", 0.10)
        if me.rank == 3:
            yield me.delay("main/checkpoint", 0.06)
        yield me.barrier()


@program(family="many paths", truth={"load_plugin/*": {1}, "find/*": {1}})
def lazy_import(me: Rank, comms: Comms) -> Steps:
    """One rank imports a plugin lazily: 6,000 call paths between two barriers."""
    for step in range(3):
        yield me.work("main/compute", 0.05)
        if me.rank == 1 and step == 1:
            for i in range(6000):
                yield me.delay(f"main/load_plugin/find/module{i // 40}/f{i % 40}", 0.00004)
        yield me.barrier()


@program(family="many paths")
def many_paths_everywhere(me: Rank, comms: Comms) -> Steps:
    """5,000 small call paths on all ranks, and one that only rank 2 has."""
    for _ in range(2):
        for i in range(5000):
            yield me.work(f"main/parse/group{i // 50}/token{i}", 0.00002)
        if me.rank == 2:
            yield me.delay("main/resolve", 0.05)
        yield me.allreduce()


@program(family="nonblocking")
def late_post(me: Rank, comms: Comms) -> Steps:
    """Rank 1 posts the nonblocking reduction late because of prepare. Much more work follows the post."""
    for _ in range(4):
        if me.rank == 1:
            yield me.delay("main/prepare", 0.06)
        request = yield me.iallreduce()
        yield me.work("main/overlap", 0.03 if me.rank != 1 else 0.20)
        yield me.wait(request)
        yield me.work("main/balance", 0.20 if me.rank != 1 else 0.0)
        yield me.barrier()


@program(family="nonblocking")
def late_ibcast(me: Rank, comms: Comms) -> Steps:
    """The root posts its broadcast late; after the post it assembles."""
    for _ in range(4):
        yield me.work("main/setup", 0.02)
        if me.rank == 0:
            yield me.delay("main/read", 0.05)
        request = yield me.ibcast(0)
        if me.rank == 0:
            yield me.work("main/assemble", 0.08)
        yield me.wait(request)
        if me.rank > 0:
            yield me.work("main/assemble", 0.08)
        yield me.barrier()


@program(family="nonblocking", is_weak=True)
def late_progress(me: Rank, comms: Comms) -> Steps:
    """MPI makes no progress outside its calls, as most libraries: the other ranks wait until rank 1, which has posted the
    reduction in time, calls MPI again."""
    for _ in range(4):
        request = yield me.iallreduce()
        yield me.work("main/overlap", 0.03)
        if me.rank == 1:
            yield me.delay("main/overlap", 0.10)
        yield me.wait(request)
        yield me.work("main/update", 0.02)
        yield me.barrier()


@program(family="in pieces")
def large_bcast(me: Rank, comms: Comms) -> Steps:
    """A large broadcast moves in pieces through all ranks: a late rank that is not the root delays all others."""
    for _ in range(4):
        yield me.work("main/compute", 0.05)
        if me.rank == 2:
            yield me.delay("main/compress", 0.07)
        yield me.bcast(0, large=True)


def exchange(me: Rank, left: int | None, right: int | None, at: str = "main/halo") -> Steps:
    posted = []
    for other in (left, right):
        if other is not None:
            posted.append((yield me.irecv(other, at=at)))
    for other in (left, right):
        if other is not None:
            posted.append((yield me.isend(other, at=at)))
    yield me.wait(*posted, at=at)


def neighbours(me: Rank) -> tuple[int | None, int | None]:
    return me.rank - 1 if me.rank > 0 else None, me.rank + 1 if me.rank + 1 < me.size else None


@program(8, family="halos")
def halo_chain(me: Rank, comms: Comms) -> Steps:
    """A chain of neighbours. Rank 5 is late in two steps, and the delay moves on by one rank per step."""
    for step in range(14):
        yield me.work("main/relax", 0.02)
        yield me.work("main/boundary", 0.005)
        if me.rank == 5 and step in (2, 3):
            yield me.delay("main/output", 0.06)
        yield from exchange(me, *neighbours(me))
    yield me.barrier()


@program(8, family="halos")
def halo_wandering(me: Rank, comms: Comms) -> Steps:
    """A chain of neighbours. In each step another rank is late, in the function that all ranks call."""
    for step in range(24):
        yield me.work("main/relax", 0.02)
        if me.rank == step * 3 % 8:
            yield me.delay("main/relax", 0.02)
        yield from exchange(me, *neighbours(me))
    yield me.barrier()


@program()
def wandering(me: Rank, comms: Comms) -> Steps:
    """In each step another rank refines: the totals of all ranks are equal."""
    for step in range(16):
        yield me.work("main/relax", 0.05)
        if me.rank == step % 4:
            yield me.delay("main/refine", 0.03)
        yield me.allreduce()


def listener(me: Rank, comms: Comms) -> Steps:
    yield me.recv((me.rank + 1) % me.size, tag=9, at="listen")


@program(threads={(rank, 1): listener for rank in range(4)}, family="threads", truth={})
def listeners(me: Rank, comms: Comms) -> Steps:
    """Balanced. Each rank has a thread that waits in a receive until the end."""
    for _ in range(10):
        yield me.work("main/compute", 0.05)
        yield me.barrier()
    yield me.send((me.rank - 1) % me.size, tag=9)


def communicates(me: Rank, comms: Comms) -> Steps:
    for _ in range(6):
        yield me.work("worker/compute", 0.05)
        if me.rank == 1:
            yield me.delay("worker/compute", 0.05)
        yield me.allreduce(at="worker")


@program(threads={(rank, 1): communicates for rank in range(4)}, family="threads")
def thread_does_it_all(me: Rank, comms: Comms) -> Steps:
    """Each main thread waits for a second thread, which does the work and the communication."""
    yield me.join(1)


@program(comms={"pair0": (0, 1), "pair1": (2, 3)}, family="small parts")
def pairs_meet_often(me: Rank, comms: Comms) -> Steps:
    """Two halves meet 40 times between two barriers of all ranks. One rank is late at the beginning."""
    pair = comms["pair0" if me.rank < 2 else "pair1"]
    for _ in range(3):
        if me.rank == 2:
            yield me.delay("main/read_part", 0.20)
        for _ in range(40):
            yield me.work("main/iterate", 0.005)
            yield me.allreduce(pair, at="main/dot")
        yield me.barrier()


@program(family="small parts")
def twelve_lines(me: Rank, comms: Comms) -> Steps:
    """One function, called from twelve lines, takes longer on one rank."""
    for _ in range(4):
        for line in range(12):
            yield me.work(f"main/interpolate@{line}", 0.01)
            if me.rank == 1:
                yield me.delay(f"main/interpolate@{line}", 0.008)
        yield me.allreduce()


@program(family="small parts", also={"assemble/*": {2}})
def forty_functions(me: Rank, comms: Comms) -> Steps:
    """assemble calls forty small functions, and all of them are slower on rank 2."""
    for _ in range(4):
        for i in range(40):
            yield me.work(f"main/assemble/term{i}", 0.003)
            if me.rank == 2:
                yield me.delay(f"main/assemble/term{i}", 0.002)
        yield me.work("main/solve", 0.10)
        yield me.allreduce()


@program(family="small parts")
def helper_from_everywhere(me: Rank, comms: Comms) -> Steps:
    """A small function that sixty others call is slow on rank 0."""
    for _ in range(3):
        for i in range(60):
            yield me.work(f"main/stage{i % 6}/op{i}/clip", 0.001)
            if me.rank == 0:
                yield me.delay(f"main/stage{i % 6}/op{i}/clip", 0.001)
        yield me.allreduce()


@program(family="indirect", also={"use_table": {1}})
def direct_and_indirect(me: Rank, comms: Comms) -> Steps:
    """Rank 1 waits for rank 0 in a receive, then all ranks wait for both: one cause, reached in two ways."""
    for _ in range(4):
        yield me.work("main/compute", 0.05)
        if me.rank == 0:
            yield me.delay("main/build_table", 0.10)
            yield me.send(1)
        if me.rank == 1:
            yield me.recv(0)
            yield me.work("main/use_table", 0.002)
        yield me.barrier()


@program(6, also={"apply": {0, 1, 2, 3, 4, 5}})
def chain_of_six(me: Rank, comms: Comms) -> Steps:
    """Rank 5 waits for 4, which waits for 3, and so on. Rank 0 is late."""
    for _ in range(3):
        yield me.work("main/compute", 0.05)
        if me.rank == 0:
            yield me.delay("main/load", 0.10)
        if me.rank > 0:
            yield me.recv(me.rank - 1)
        yield me.work("main/apply", 0.01)
        if me.rank < 5:
            yield me.send(me.rank + 1)
        yield me.work("main/apply", 0.01 * (5 - me.rank))
        yield me.barrier()


@program(4, truth={"stage2": {2}, "stage0": {0}, "stage1": {1}, "stage3": {3}})
def pipeline(me: Rank, comms: Comms) -> Steps:
    """Four stages, of which the third takes three times as long. The others wait to receive or to send."""
    for _ in range(20):
        if me.rank > 0:
            yield me.recv(me.rank - 1, at="main")
        yield me.work(f"main/stage{me.rank}", 0.01)
        if me.rank == 2:
            yield me.delay("main/stage2", 0.02)
        if me.rank < 3:
            yield me.send(me.rank + 1, sync=True, at="main")


@program(truth={"write": {0, 1, 2}})
def one_after_the_other(me: Rank, comms: Comms) -> Steps:
    """Ranks write in turn: all do the same, but none can begin before the rank below it has ended."""
    yield me.work("main/compute", 0.05)
    if me.rank > 0:
        yield me.recv(me.rank - 1)
    yield me.work("main/write", 0.05)
    if me.rank < 3:
        yield me.send(me.rank + 1)


TASK, END = 2, 3


def master(me: Rank, n_tasks: int, prepare: float) -> Steps:
    for task in range(n_tasks + me.size - 1):
        request = yield me.recv(None, tag=1, at="master")
        if task < n_tasks and prepare:
            yield me.work("master/prepare", prepare)
        yield me.send(request.peer, tag=TASK if task < n_tasks else END, at="master")


def tasks(me: Rank, seconds: float, late_at: int | None = None) -> Steps:
    """Asks for tasks until there are no more."""
    n_done = 0
    while True:
        yield me.send(0, tag=1, at="worker")
        got = yield me.recv(0, tag=None, at="worker")
        if got.sequence == END:
            return
        yield me.work("worker/task", seconds)
        n_done += 1
        if n_done == late_at:
            yield me.delay("worker/task", 0.30)


@program(5, also={"task": {1, 2, 3, 4}})  # the master does nothing but wait for tasks
def master_worker(me: Rank, comms: Comms) -> Steps:
    """Tasks of equal length, but the last one takes longer: all ranks wait for it at the end."""
    if me.rank == 0:
        yield from master(me, 24, 0.0)
    else:
        yield from tasks(me, 0.04, late_at=6 if me.rank == 3 else None)
    yield me.barrier(at="main")


@program(5, truth={"prepare": {0}}, also={"task": {1, 2, 3, 4}})
def master_is_slow(me: Rank, comms: Comms) -> Steps:
    """The master prepares each task, and that takes longer than all workers together."""
    if me.rank == 0:
        yield from master(me, 24, 0.03)
    else:
        yield from tasks(me, 0.05)


@program(9, comms={f"row{i}": (3 * i, 3 * i + 1, 3 * i + 2) for i in range(3)} | {f"column{i}": (i, 3 + i, 6 + i) for i in range(3)})
def rows_and_columns(me: Rank, comms: Comms) -> Steps:
    """Reductions along rows, then columns of a grid. Rank 4 is late and its delay spreads through both."""
    for step in range(6):
        yield me.work("main/spmv", 0.02)
        if me.rank == 4 and step % 2 == 0:
            yield me.delay("main/redistribute", 0.05)
        yield me.allreduce(comms[f"row{me.rank // 3}"], at="main/row")
        yield me.work("main/axpy", 0.02)
        yield me.allreduce(comms[f"column{me.rank % 3}"], at="main/column")


@program()
def late_receiver(me: Rank, comms: Comms) -> Steps:
    """A large message is not received, because the receiver still computes."""
    for _ in range(4):
        yield me.work("main/compute", 0.05)
        if me.rank == 0:
            request = yield me.isend(1, sync=True)
            yield me.wait(request)
        elif me.rank == 1:
            yield me.delay("main/postprocess", 0.06)
            yield me.recv(0)
        elif me.rank == 2:
            yield me.send(3, sync=True)
        else:
            yield me.delay("main/postprocess", 0.04)
            yield me.recv(2)


@program(also={"assemble/*": {1}})
def spread_over_a_subtree(me: Rank, comms: Comms) -> Steps:
    """assemble takes half as long again on rank 1, in all functions that it calls."""
    for _ in range(5):
        for i, part in enumerate(("faces", "cells", "edges", "points", "bounds")):
            yield me.work(f"main/assemble/{part}", 0.02 + 0.002 * i)
            if me.rank == 1:
                yield me.delay(f"main/assemble/{part}", 0.01 + 0.001 * i)
        yield me.work("main/solve", 0.05)
        yield me.allreduce()


@program()
def other_ways_inside(me: Rank, comms: Comms) -> Steps:
    """solve takes the same time on all ranks, with different methods. The difference is a file."""
    for _ in range(5):
        yield me.work(f"main/solve/{('direct', 'multigrid', 'cg', 'lu')[me.rank]}", 0.10)
        if me.rank == 3:
            yield me.delay("main/save", 0.03)
        yield me.allreduce()


@program(cut={2: 14}, family="records")
def records_end(me: Rank, comms: Comms) -> Steps:
    """The records of rank 2 end half-way: from there on no call has all its partners, and no wait is found."""
    for _ in range(20):
        yield me.work("main/compute", 0.03)
        if me.rank == 3:
            yield me.delay("main/refine", 0.02)
        yield me.barrier()


@program(blind={3: 2}, family="records")
def parts_are_missing(me: Rank, comms: Comms) -> Steps:
    """Every second record of rank 3 has no parts: the cause of half of the waiting cannot be known."""
    for _ in range(20):
        yield me.work("main/compute", 0.03)
        if me.rank == 3:
            yield me.delay("main/refine", 0.02)
        yield me.barrier()


@program(blind={0: 2}, family="records")
def parts_of_the_others(me: Rank, comms: Comms) -> Steps:
    """Every second record of rank 0, which waits, has no parts: it may have done the same as rank 3, so less is certain."""
    for _ in range(20):
        yield me.work("main/compute", 0.03)
        if me.rank == 3:
            yield me.delay("main/refine", 0.02)
        yield me.barrier()


@program(truth={}, family="balanced")
def balanced(me: Rank, comms: Comms) -> Steps:
    """All ranks do the same, on different paths; no rank waits."""
    top = "root_main" if me.rank == 0 else "worker_main"
    for _ in range(10):
        yield me.work(f"{top}/kernel", 0.05)
        yield from exchange(me, (me.rank - 1) % 4, (me.rank + 1) % 4)
        yield me.allreduce(at=top)


@program(truth={}, family="balanced")
def balanced_roles(me: Rank, comms: Comms) -> Steps:
    """Different functions on each rank, for the same time."""
    for _ in range(10):
        yield me.work(f"main/role{me.rank}", 0.05)
        yield me.barrier()


@program(8, comms={"low": (0, 1, 2, 3), "high": (7, 6, 5, 4)}, truth={}, family="balanced")
def balanced_halves(me: Rank, comms: Comms) -> Steps:
    """Two halves that meet only at the end, with nonblocking reductions."""
    half = comms["low" if me.rank < 4 else "high"]
    for _ in range(10):
        request = yield me.iallreduce(half)
        yield me.work("main/overlap", 0.02)
        yield me.wait(request)
        yield me.work("main/rest", 0.01)
    yield me.barrier()
