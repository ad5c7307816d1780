# SPDX-License-Identifier: BSD-3-Clause
"""Proves who waits for whom in messages, and whether those that do not block are hidden behind work, on four ranks; where a fault
takes two of them, ranks 0 and 1 have one and ranks 2 and 3 another at the same time. What really happened goes into
truth-R.json: see planted_notes.py.
"""

import array
import time

from mpi4py import MPI
from planted_notes import clock, enter, leave, post, set_out, span, write

world = MPI.COMM_WORLD
rank = world.rank
one, other, more = (array.array("d", [0]) for _ in range(3))
LARGE = 1 << 22  # no MPI sends so much before somebody wants it
large = bytearray(LARGE)


def meet():
    world.Barrier()
    set_out()


# ---- one waits for the other ----


def computes_before_sending():
    time.sleep(0.15)


def late_sender():
    if rank == 1:
        computes_before_sending()
        enter("late_sender")
        world.Send(one, dest=0)
    else:
        enter("late_sender")
        world.Recv(other, source=1)  # WAIT: late_sender


def is_busy_elsewhere():
    time.sleep(0.15)


def late_receiver():
    if rank == 3:
        is_busy_elsewhere()
        enter("late_receiver")
        world.Recv(large, source=2)
    else:
        enter("late_receiver")
        world.Send(large, dest=3)  # WAIT: late_receiver


def computes_before_the_probe():
    time.sleep(0.12)


def late_for_a_probe():
    """The wait is over when the message is there: receiving it takes no more."""
    if rank == 1:
        computes_before_the_probe()
        enter("probe")
        world.Send(one, dest=0)
    else:
        enter("probe")
        world.Probe(source=MPI.ANY_SOURCE)  # WAIT: probe
        enter("after_probe")
        world.Recv(other, source=1)  # WAIT: after_probe


def keeps_a_synchronous_sender():
    time.sleep(0.12)


def late_for_ssend():
    if rank == 3:
        keeps_a_synchronous_sender()
        enter("ssend")
        world.Recv(other, source=2)
    else:
        enter("ssend")
        world.Ssend(one, dest=3)  # WAIT: ssend


def comes_late_to_no_harm():
    time.sleep(0.1)


def eager():
    """What is small is sent and forgotten: nobody waits."""
    if rank % 2:
        comes_late_to_no_harm()
        world.Recv(other, source=rank - 1)  # WAIT: eager_receive
    else:
        world.Send(one, dest=rank + 1)  # WAIT: eager_send


def stops_the_ring():
    time.sleep(0.15)


def ring():
    """Everybody sends to the right: only rank 3 hears from the late one."""
    if rank == 2:
        stops_the_ring()
    enter("ring")
    world.Sendrecv(one, (rank + 1) % 4, 0, other, (rank - 1) % 4, 0)  # WAIT: ring


# ---- one waits for another that waits for a third ----


def digs():
    begin = clock()
    time.sleep(0.15)
    span("digs", begin)


def polishes():
    begin = clock()
    time.sleep(0.1)
    span("polishes", begin)


def chain():
    """Rank 0 keeps rank 1, both keep rank 2, and rank 3 waits for rank 2, which has done nothing but wait."""
    if rank == 0:
        digs()
    if rank == 1:
        enter("chain_1_hears_0")
        world.Recv(other, source=0)  # WAIT: chain_1_hears_0
        polishes()
    if rank == 2:
        enter("chain_2_hears_1")
        world.Recv(other, source=1)  # WAIT: chain_2_hears_1
    if rank == 3:
        enter("chain_3_hears_2")
        world.Recv(other, source=2)  # WAIT: chain_3_hears_2
    else:
        enter(f"chain_{rank + 1}_hears_{rank}")
        world.Send(one, dest=rank + 1)


# ---- those that do not block ----


def keeps_a_request_open():
    time.sleep(0.15)


def exposed():
    """Nothing is done between the post and the wait."""
    if rank == 1:
        keeps_a_request_open()
        enter("exposed")
        world.Send(one, dest=0)
        return
    post("exposed")
    request = world.Irecv(other, source=1)  # POST: exposed
    enter("exposed")
    request.Wait()  # WAIT: exposed
    leave("exposed")


def works_meanwhile():
    time.sleep(0.15)


def hidden():
    """The message comes while its receiver works."""
    if rank == 3:
        time.sleep(0.05)
        enter("hidden")
        world.Send(one, dest=2)
        return
    post("hidden")
    request = world.Irecv(other, source=3)  # POST: hidden
    works_meanwhile()
    enter("hidden")
    request.Wait()  # WAIT: hidden
    leave("hidden")


def works_for_half_of_it():
    time.sleep(0.1)


def sends_after_all_that():
    time.sleep(0.2)


def half_hidden():
    if rank == 1:
        sends_after_all_that()
        enter("half_hidden")
        world.Send(one, dest=0)
        return
    post("half_hidden")
    request = world.Irecv(other, source=1)  # POST: half_hidden
    works_for_half_of_it()
    enter("half_hidden")
    request.Wait()  # WAIT: half_hidden
    leave("half_hidden")


def receives_too_late():
    time.sleep(0.15)


def exposed_send():
    if rank == 3:
        receives_too_late()
        enter("exposed_send")
        world.Recv(large, source=2)
        return
    post("exposed_send")
    request = world.Isend(large, dest=3)  # POST: exposed_send
    enter("exposed_send")
    request.Wait()  # WAIT: exposed_send
    leave("exposed_send")


def sends_first():
    time.sleep(0.05)


def sends_last():
    time.sleep(0.15)


def several_at_once():
    """Rank 0 waits for two messages in one call: until the later one, once."""
    if rank == 0:
        requests = [world.Irecv(other, source=1), world.Irecv(more, source=2)]
        enter("waitall")
        MPI.Request.Waitall(requests)  # WAIT: waitall
    if rank == 1:
        sends_first()
    if rank == 2:
        sends_last()
    if rank in (1, 2):
        enter("waitall")
        world.Send(one, dest=0)


def posts_late():
    time.sleep(0.15)


def nonblocking_reduction():
    if rank == 1:
        posts_late()
    post("iallreduce")
    request = world.Iallreduce(one, other)  # POST: iallreduce
    enter("iallreduce")
    request.Wait()  # WAIT: iallreduce
    leave("iallreduce")


def holds_both_up():
    time.sleep(0.12)


def sends_late():
    time.sleep(0.12)


def receives_later_still():
    time.sleep(0.24)


def eager_exchange():
    """Rank 1 waits for what it receives: what it sends is small, and is taken when it is through."""
    if rank == 0:
        sends_late()
        post("eager_exchange")
        enter("eager_exchange")
        world.Send(one, dest=1)
    elif rank == 1:
        requests = [world.Isend(one, dest=2), world.Irecv(other, source=0)]  # POST: eager_exchange
        post("eager_exchange")
        enter("eager_exchange")
        MPI.Request.Waitall(requests)  # WAIT: eager_exchange
        leave("eager_exchange")
    elif rank == 2:
        receives_later_still()
        world.Recv(more, source=1)


def two_communicators(left, right):
    """Both are under way at once, and not all ranks begin with the same one."""
    if rank == 3:
        holds_both_up()
    both = [left, right] if rank % 2 else [right, left]
    requests = {}
    for comm in both:
        post("left" if comm is left else "right")
        requests[comm is left] = comm.Ibarrier()  # POST: two_at_once
    enter("left")
    requests[True].Wait()  # WAIT: left
    enter("right")
    requests[False].Wait()  # WAIT: right


def main():
    left, right = world.Dup(), world.Dup()
    for ours, theirs in ((late_sender, late_receiver), (late_for_a_probe, late_for_ssend), (eager, eager), (ring, ring),
                         (chain, chain), (exposed, hidden), (half_hidden, exposed_send),
                         (several_at_once, several_at_once), (eager_exchange, eager_exchange), (nonblocking_reduction, nonblocking_reduction)):  # fmt: skip
        meet()
        (ours if rank < 2 else theirs)()
    meet()
    two_communicators(left, right)
    meet()
    write()


main()
