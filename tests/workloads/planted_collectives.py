# SPDX-License-Identifier: BSD-3-Clause
"""Proves who waits for whom in collective calls, and what made that rank late: one fault after the other, each with a function
of its own to blame, on four ranks that come from a barrier. What really happened goes into truth-R.json: see planted_notes.py.

    planted_collectives.py C_LIBRARY [FORTRAN_LIBRARY]     libraries that make one collective call each
"""

import array
import ctypes
import sys
import time

from mpi4py import MPI
from planted_notes import clock, enter, set_out, span, write

world = MPI.COMM_WORLD
rank = world.rank
in_c = ctypes.CDLL(sys.argv[1])
in_fortran = ctypes.CDLL(sys.argv[2]) if len(sys.argv) > 2 else None
LARGE = 1 << 22  # no MPI sends so much before somebody wants it
one, four = array.array("d", [1]), array.array("d", [1] * 4)
other, others = array.array("d", [0]), array.array("d", [0] * 4)


def meet():
    """Whatever was before, from here on all start anew."""
    world.Barrier()
    set_out()


def sorts_particles():
    time.sleep(0.15)


def at_barrier():
    meet()
    if rank == 2:
        sorts_particles()
    enter("barrier")
    world.Barrier()  # WAIT: barrier


def computes_as_all_do():
    begin = clock()
    time.sleep(0.05)
    span("computes_as_all_do", begin)


def refines_mesh():
    begin = clock()
    time.sleep(0.15)
    span("refines_mesh", begin)


def at_allreduce():
    """All do something, one of them does more."""
    meet()
    computes_as_all_do()
    if rank == 0:
        refines_mesh()
    enter("allreduce")
    world.Allreduce(one, other)  # WAIT: allreduce


def parses_input():
    begin = clock()
    time.sleep(0.1)
    span("parses_input", begin)


def builds_tree():
    begin = clock()
    time.sleep(0.2)
    span("builds_tree", begin)


def at_allgather():
    """Two are to blame, one of them for two thirds."""
    meet()
    if rank == 1:
        parses_input()
        builds_tree()
    enter("allgather")
    world.Allgather(one, others)  # WAIT: allgather


def shuffles():
    time.sleep(0.12)


def at_alltoall():
    meet()
    if rank == 3:
        shuffles()
    enter("alltoall")
    world.Alltoall(four, others)  # WAIT: alltoall


def reads_input():
    time.sleep(0.15)


def at_late_bcast():
    meet()
    if rank == 0:
        reads_input()
    enter("late_bcast")
    world.Bcast(one, root=0)  # WAIT: late_bcast


def comes_late_to_no_harm():
    time.sleep(0.1)


def at_punctual_bcast():
    """The root is there, and what it sends is small: one rank that comes late keeps nobody waiting."""
    meet()
    if rank == 3:
        comes_late_to_no_harm()
    enter("punctual_bcast")
    world.Bcast(one, root=0)  # WAIT: punctual_bcast


def cuts_into_parts():
    time.sleep(0.12)


def at_scatter():
    meet()
    if rank == 2:
        cuts_into_parts()
    enter("scatter")
    world.Scatter(four, other, root=2)  # WAIT: scatter


def sums_up_slowly():
    time.sleep(0.15)


def at_reduce():
    meet()
    if rank == 3:
        sums_up_slowly()
    enter("reduce")
    world.Reduce(one, other, root=0)  # WAIT: reduce


def at_late_root():
    """The root of a reduction comes last: it does not wait, and small messages wait for nobody."""
    meet()
    if rank == 0:
        comes_late_to_no_harm()
    enter("late_root")
    world.Reduce(one, other, root=0)  # WAIT: late_root


def collects_samples():
    time.sleep(0.12)


def at_gather():
    meet()
    if rank == 2:
        collects_samples()
    enter("gather")
    world.Gather(one, others, root=1)  # WAIT: gather


def counts_before_others():
    time.sleep(0.12)


def at_scan():
    meet()
    if rank == 1:
        counts_before_others()
    enter("scan")
    world.Scan(one, other)  # WAIT: scan


def thinks_about_colours():
    time.sleep(0.12)


def at_split():
    meet()
    if rank == 0:
        thinks_about_colours()
    enter("split")
    return world.Split(rank % 2, rank)  # WAIT: split


def drags_even_ranks():
    time.sleep(0.12)


def drags_odd_ranks():
    time.sleep(0.2)


def two_communicators(half):
    """At one line, each half of the ranks has its own late one: 0 of ranks 0 and 2, 3 of ranks 1 and 3."""
    meet()
    if rank == 0:
        drags_even_ranks()
    if rank == 3:
        drags_odd_ranks()
    enter("halves")
    half.Barrier()  # WAIT: halves


def comes_late_to_take_it():
    time.sleep(0.12)


def at_late_taker(pair):
    """Much goes to a root that is not there."""
    much, all_of_it = bytearray(LARGE), bytearray(2 * LARGE)
    meet()
    if pair.rank == 0:
        comes_late_to_take_it()
    enter("late_taker")
    pair.Gather(much, all_of_it if pair.rank == 0 else None)  # WAIT: late_taker


def prepares_for_c():
    time.sleep(0.12)


def from_c():
    meet()
    if rank == 1:
        prepares_for_c()
    enter("from_c")
    in_c.meet_in_c()  # WAIT: from_c


def prepares_for_fortran():
    time.sleep(0.12)


def from_fortran():
    meet()
    if rank == 2:
        prepares_for_fortran()
    enter("from_fortran")
    in_fortran.reduce_in_fortran(world.py2f())  # WAIT: from_fortran


def main():
    at_barrier()
    at_allreduce()
    at_allgather()
    at_alltoall()
    at_late_bcast()
    at_punctual_bcast()
    at_scatter()
    at_reduce()
    at_late_root()
    at_gather()
    at_scan()
    two_communicators(at_split())
    at_late_taker(world.Split(rank // 2, rank))
    from_c()
    if in_fortran:
        from_fortran()
    meet()
    write()


main()
