# SPDX-License-Identifier: BSD-3-Clause
"""Truth: who waited for whom, where, how long, and what made him late, compared with what programs with planted faults wrote
down themselves.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import Sandbox, settled
from test_fortran import fortran_library
from test_libraries import caller_in_c, library_of
from truth import (
    SLACK_S,
    Blame,
    Fault,
    Json,
    Truth,
    after_the_root,
    check_efficiencies,
    check_sums,
    entries_at,
    everybody,
    read_waits,
    record,
    total,
    unlike_fault,
    unlike_request,
)

pytestmark = pytest.mark.alone
ALL = everybody(0, 1, 2, 3)

COLLECTIVES = (
    Fault("barrier", "barrier", "Barrier", ALL, {2: "sorts_particles"}),
    Fault("alltoall", "all", "Alltoall", ALL, {3: "shuffles"}),
    Fault("late_bcast", "late_broadcast", "Bcast", after_the_root(0, 1, 2, 3), {0: "reads_input"}),
    Fault("punctual_bcast", "late_broadcast", "Bcast", after_the_root(0, 1, 2, 3)),
    Fault("scatter", "late_broadcast", "Scatter", after_the_root(2, 0, 1, 3), {2: "cuts_into_parts"}),
    Fault("reduce", "early_reduce", "Reduce", {0: (1, 2, 3)}, {3: "sums_up_slowly"}),
    Fault("late_root", "early_reduce", "Reduce", {0: (1, 2, 3)}),
    Fault("gather", "early_reduce", "Gather", {1: (0, 2, 3)}, {2: "collects_samples"}),
    Fault("scan", "early_scan", "Scan", {1: (0,), 2: (0, 1), 3: (0, 1, 2)}, {1: "counts_before_others"}),
    Fault("split", "all", "Split", ALL, {0: "thinks_about_colours"}),
    Fault("halves", "barrier", "Barrier", {**everybody(0, 2), **everybody(1, 3)},
          {0: "drags_even_ranks", 3: "drags_odd_ranks"}),
    Fault("late_taker", "late_receiver", "Gather", {1: (0,), 3: (2,)},
          {0: "comes_late_to_take_it", 2: "comes_late_to_take_it"}),
    Fault("from_c", "barrier", "Barrier", ALL, {1: "prepares_for_c"}),
)  # fmt: skip
MORE_THAN_OTHERS = Fault("allreduce", "all", "Allreduce", ALL)
TWO_TO_BLAME = Fault("allgather", "all", "Allgather", ALL)
FROM_FORTRAN = Fault("from_fortran", "all", "Allreduce", ALL, {2: "prepares_for_fortran"})


def test_collective_calls(mpi: Sandbox):
    fortran = fortran_library(mpi, "planted_reduces.f90")
    libraries = [caller_in_c(mpi, library_of(mpi)), *([str(fortran)] if fortran else [])]
    faults = (*COLLECTIVES, FROM_FORTRAN) if fortran else COLLECTIVES

    def look() -> dict[str, str]:
        truth, run = record(mpi, "planted_collectives.py", 4, *libraries)
        data = read_waits(mpi, run)
        check_sums(truth, data)
        check_efficiencies(mpi, run, data)
        assert data["unresolved"] == 0
        return {
            **unlike_each(truth, data, faults),
            **unlike_fault(truth, data, MORE_THAN_OTHERS, more_than_others(truth)),
            **unlike_fault(truth, data, TWO_TO_BLAME, two_to_blame(truth)),
        }

    assert not settled(look)


def unlike_each(truth: Truth, data: Json, faults: tuple[Fault, ...]) -> dict[str, str]:
    wrong = {}
    for fault in faults:
        wrong.update(unlike_fault(truth, data, fault))
    return wrong


def by_name(faults: tuple[Fault, ...], name: str) -> Fault:
    return next(fault for fault in faults if fault.name == name)


def waited_in_all(truth: Truth, fault: Fault) -> float:
    return total(truth.waited(fault).values())[1]


def shares(truth: Truth, fault: Fault, rank: int, *functions: str) -> dict[str, tuple[float, float]]:
    """What functions of the late rank are charged with, in proportion to what they took."""
    spans = {name: truth.span(rank, name) for name in functions}
    least, most = total(wait.charged for wait in truth.all_waits(fault))
    parts = {name: seconds / sum(spans.values()) for name, seconds in spans.items()}
    return {name: (least * part, most * part) for name, part in parts.items()}


def more_than_others(truth: Truth) -> dict[Blame, tuple[float, float]]:
    """What it did beyond what all do is to blame for its part of all that it did, if not for everything."""
    least, _ = shares(truth, MORE_THAN_OTHERS, 0, "refines_mesh", "computes_as_all_do")["refines_mesh"]
    return {Blame(0, "refines_mesh"): (least, waited_in_all(truth, MORE_THAN_OTHERS))}


def two_to_blame(truth: Truth) -> dict[Blame, tuple[float, float]]:
    found = shares(truth, TWO_TO_BLAME, 1, "parses_input", "builds_tree")
    return {Blame(1, name): seconds for name, seconds in found.items()}


# ---- windows, files and communicators ----

HANDLES = {
    "win_create": "Create", "fence": "Fence", "second_fence": "Fence", "win_free": "Free", "win_allocate": "Allocate",
    "file_open": "Open", "set_size": "Set_size", "set_view": "Set_view", "write_all": "Write_at_all",
    "write_begin": "Write_at_all_begin", "write_end": "Write_at_all_end", "sync": "Sync", "file_close": "Close",
    "create_group": "Create_group", "comm_free": "Free", "disconnect": "Disconnect",
}  # fmt: skip
KEPT_EVERYWHERE = {"win_create", "fence", "second_fence", "win_free", "win_allocate", "file_open", "file_close", "create_group"}


def fault_of_handle(truth: Truth, name: str) -> Fault:
    """Whether anybody waits is up to the library: all do that left after the last one came, or no rank does."""
    members = [rank for rank in truth.ranks if name in truth.noted[rank]["left"]]
    last = max(truth.entered(rank, name)[0] for rank in members)
    kept = min(truth.noted[rank]["left"][name][0] for rank in members) >= last
    assert kept or name not in KEPT_EVERYWHERE
    return Fault(name, "all", HANDLES[name], everybody(*members) if kept else {}, {2: "comes_late"} if kept else {})


def test_windows_files_and_communicators(mpi: Sandbox):
    """Calls that work on what they make or free, and of which MPI does not promise that ranks wait in them."""

    def look() -> dict[str, str]:
        truth, run = record(mpi, "planted_handles.py", 4)
        data = read_waits(mpi, run)
        check_sums(truth, data)
        assert data["unresolved"] == 0
        return unlike_each(truth, data, tuple(fault_of_handle(truth, name) for name in HANDLES))

    assert not settled(look)


# ---- the beginning and the end ----

INIT = Fault("init", "barrier", "Init", ALL)
FINALIZE = Fault("finalize", "barrier", "Finalize", ALL, {1: "writes_the_last_plot"})


def test_init_and_finalize(mpi: Sandbox):
    """Whoever is late before the first call, or after the last one, is waited for there, and nowhere else."""

    def look() -> dict[str, str]:
        truth, run = record(mpi, "planted_ends.py", 4)
        data = read_waits(mpi, run)
        check_sums(truth, data)
        check_efficiencies(mpi, run, data)
        assert (data["operations"], data["unresolved"]) == (2 * 4, 0)
        return {**unlike_fault(truth, data, INIT, mostly_its_settings(truth)), **unlike_fault(truth, data, FINALIZE)}

    assert not settled(look)


def mostly_its_settings(truth: Truth) -> dict[Blame, tuple[float, float]]:
    """Before it ranks import modules, which takes one of them longer than another: that made it late as well."""
    waited = waited_in_all(truth, INIT)
    return {Blame(2, "reads_its_settings"): (waited / 2, waited)}


# ---- as it comes in real programs ----

PATTERNS = (
    Fault("slow_rank", "all", "Allreduce", ALL, {3: "works_a_step"}),
    Fault("half_idle", "barrier", "Barrier", ALL, {0: "does_it_all", 1: "does_it_all"}, tied=(0, 1)),
    Fault("wandering", "all", "Allreduce", ALL, dict.fromkeys(range(4), "takes_its_turn")),
    Fault("serial", "late_broadcast", "Bcast", after_the_root(0, 1, 2, 3), {0: "assembles_alone"}),
    Fault("checkpoint", "barrier", "Barrier", ALL, {0: "writes_checkpoint"}),
    Fault("first", "late_sender", "Recv", {1: (0,)}, {0: "makes_the_first_late"}),
)
FOR_TWO_REASONS = Fault("second", "barrier", "Barrier", ALL)


def test_patterns(mpi: Sandbox):
    def look() -> dict[str, str]:
        truth, run = record(mpi, "planted_patterns.py", 4)
        data = read_waits(mpi, run)
        check_sums(truth, data)
        assert data["unresolved"] == 0
        check_the_screen(mpi, run, data)
        check_chosen_ranks(mpi, run, data)
        wrong = unlike_fault(truth, data, FOR_TWO_REASONS, for_two_reasons(truth))
        return {**unlike_each(truth, data, PATTERNS), **wrong}

    assert not settled(look)


def for_two_reasons(truth: Truth) -> dict[Blame, tuple[float, float]]:
    """What each rank has waited for beyond rank 1's own doing is rank 0's."""
    waited = [most for _, most in truth.waited(FOR_TWO_REASONS).values()]
    own = truth.span(1, "adds_to_it")
    direct = sum(min(seconds, own) for seconds in waited)
    of_first = min(truth.span(0, "makes_the_first_late"), waited_in_all(truth, by_name(PATTERNS, "first")))
    least = sum(min(max(0.0, seconds - own), of_first) for seconds in waited)
    return {
        Blame(1, "adds_to_it"): (direct, direct),
        Blame(0, "makes_the_first_late", True): (least, sum(waited) - direct),
    }


def check_the_screen(mpi: Sandbox, run: str, data: Json) -> None:
    """The largest wait is on it, and in detail with its ranks; each with who is to blame."""
    largest = data["waits"][0]
    place, cause = f"{Path(largest['file']).name}:{largest['line']}", largest["causes"][0]
    screen = mpi.answer("waits", run).decode()
    assert len(screen.splitlines()) <= 24
    for text in (screen, mpi.answer("waits", run, "1").decode()):
        assert place in text and largest["name"] in text and cause["name"] in text, text


def check_chosen_ranks(mpi: Sandbox, run: str, data: Json) -> None:
    chosen = read_waits(mpi, run, "--ranks", "1")
    assert {each["rank"] for entry in chosen["waits"] for each in entry["waiting"]} == {1}
    of_all = sum(each["waited_ns"] for entry in data["waits"] for each in entry["waiting"] if each["rank"] == 1)
    assert chosen["waited_ns"] == of_all


# ---- messages ----

MESSAGES = (
    Fault("late_sender", "late_sender", "Recv", {0: (1,)}, {1: "computes_before_sending"}),
    Fault("late_receiver", "late_receiver", "Send", {2: (3,)}, {3: "is_busy_elsewhere"}),
    Fault("probe", "late_sender", "Probe", {0: (1,)}, {1: "computes_before_the_probe"}),
    Fault("after_probe", "late_sender", "Recv", {}),
    Fault("ssend", "late_receiver", "Ssend", {2: (3,)}, {3: "keeps_a_synchronous_sender"}),
    Fault("eager_send", "late_receiver", "Send", {}),
    Fault("eager_receive", "late_sender", "Recv", {}),
    Fault("ring", "late_sender", "Sendrecv", {rank: ((rank - 1) % 4,) for rank in range(4)}, {2: "stops_the_ring"}),
    Fault("chain_1_hears_0", "late_sender", "Recv", {1: (0,)}, {0: "digs"}),
    Fault("exposed", "late_sender", "Wait", {0: (1,)}, {1: "keeps_a_request_open"}, nonblocking=True),
    Fault("hidden", "late_sender", "Wait", {2: (3,)}, nonblocking=True),
    Fault("half_hidden", "late_sender", "Wait", {0: (1,)}, {1: "sends_after_all_that"}, nonblocking=True),
    Fault("exposed_send", "late_receiver", "Wait", {2: (3,)}, {3: "receives_too_late"}, nonblocking=True),
    Fault("eager_exchange", "late_sender", "Waitall", {1: (0,)}, {0: "sends_late"}, nonblocking=True),
    Fault("iallreduce", "all", "Wait", ALL, {1: "posts_late"}, nonblocking=True),
    Fault("left", "barrier", "Wait", ALL, {3: "holds_both_up"}, nonblocking=True),
    Fault("right", "barrier", "Wait", ALL, nonblocking=True),
)
BOTH_KEEP_2 = Fault("chain_2_hears_1", "late_sender", "Recv", {2: (1,)})
ALL_KEEP_3 = Fault("chain_3_hears_2", "late_sender", "Recv", {3: (2,)})
SEVERAL_AT_ONCE = Fault("waitall", "late_sender", "Waitall", {0: (1, 2)}, nonblocking=True, tied=(1, 2))


def test_messages(mpi: Sandbox):
    def look() -> dict[str, str]:
        truth, run = record(mpi, "planted_messages.py", 4)
        data = read_waits(mpi, run)
        check_sums(truth, data)
        assert data["unresolved"] == 0
        return {
            **unlike_each(truth, data, MESSAGES),
            **unlike_chain(truth, data),
            **unlike_fault(truth, data, SEVERAL_AT_ONCE, charged_to_the_last(truth)),
            **unlike_request(truth, data, "exposed", "Irecv", "Wait"),
            **unlike_request(truth, data, "hidden", "Irecv", "Wait"),
            **unlike_request(truth, data, "half_hidden", "Irecv", "Wait"),
            **unlike_request(truth, data, "exposed_send", "Isend", "Wait"),
            **unlike_request(truth, data, "eager_exchange", "Irecv", "Waitall"),  # both are in flight all the time
            **unlike_request(truth, data, "eager_exchange", "Isend", "Waitall"),
            **unlike_request(truth, data, "iallreduce", "Iallreduce", "Wait"),
        }

    assert not settled(look)


def unlike_chain(truth: Truth, data: Json) -> dict[str, str]:
    """Each step is charged with its own part; how far the last one's blame is followed back is left open."""
    own = truth.span(1, "polishes")
    rest_of_2 = waited_in_all(truth, BOTH_KEEP_2) - own
    of_3 = waited_in_all(truth, ALL_KEEP_3)
    least = min(rest_of_2, truth.span(0, "digs"), waited_in_all(truth, by_name(MESSAGES, "chain_1_hears_0")))
    charged_2 = {Blame(1, "polishes"): (own, own), Blame(0, "digs", True): (least, rest_of_2)}
    charged_3 = {Blame(1, "polishes", True): (own, of_3), Blame(0, "digs", True): (0.0, of_3 - own)}
    wrong = {
        **unlike_fault(truth, data, BOTH_KEEP_2, charged_2),
        **unlike_fault(truth, data, ALL_KEEP_3, charged_3),
    }
    for entry in entries_at(data, truth.program, truth.marks["WAIT", ALL_KEEP_3.name]):
        for cause in entry["causes"]:
            known = (cause["rank"], cause["name"], cause["indirect_ns"] > cause["ns"] / 2) in ((0, "digs", True), (1, "polishes", True))
            if cause["ns"] > SLACK_S * 1e9 and cause["name"] and not known:
                wrong[f"{ALL_KEEP_3.name}: did not make anybody late"] = str(cause)
    return wrong


def charged_to_the_last(truth: Truth) -> dict[Blame, tuple[float, float]]:
    """Before the first of two messages came both were waited for."""
    (first,), (last,) = truth.came(1, "waitall"), truth.came(2, "waitall")
    return {Blame(None, "sends_last"): (last - first, waited_in_all(truth, SEVERAL_AT_ONCE))}


TRUNCATED = Fault("next", "late_sender", "Recv", {1: (0,)}, {0: "prepares_the_next"})


def test_truncated_messages(mpi: Sandbox):
    """They are received, although the call fails: the next message is not taken for them."""

    def look() -> dict[str, str]:
        truth, run = record(mpi, "planted_truncated.py", 2)
        data = read_waits(mpi, run)
        check_sums(truth, data)
        assert data["unresolved"] == 0
        return unlike_fault(truth, data, TRUNCATED)

    assert not settled(look)


REQUESTS = (
    Fault("receive", "late_sender", "Wait", {1: (0,)}, {0: "sends_late"}, nonblocking=True),
    Fault("barrier", "barrier", "Wait", everybody(0, 1), {0: "posts_late"}, nonblocking=True),
    Fault("started", "barrier", "Wait", everybody(0, 1), {0: "starts_late"}, nonblocking=True),
    Fault("one_way", "late_receiver", "Wait", {1: (0,)}, {0: "takes_it_late"}, nonblocking=True),
)
N_UNSEEN = 3  # messages that nobody is seen to receive


def test_requests(mpi: Sandbox):
    """A handle that comes again, one that is started again, and one of which half is nothing."""

    def look() -> dict[str, str]:
        truth, run = record(mpi, "planted_requests.py", 2)
        data = read_waits(mpi, run)
        check_sums(truth, data)
        assert data["unresolved"] == N_UNSEEN
        wrong = {
            **unlike_each(truth, data, REQUESTS),
            **unlike_request(truth, data, "receive", "Irecv", "Wait"),
        }
        if truth.entered(1, "one_way"):
            wrong.update(unlike_request(truth, data, "one_way", "Isendrecv", "Wait"))
        return wrong

    assert not settled(look)


# ---- objects ----

OBJECTS = (
    Fault("recv", "late_sender", "recv", {0: (1,)}, {1: "makes_an_object"}),
    Fault("bcast", "late_broadcast", "bcast", after_the_root(0, 1, 2, 3), {0: "reads_settings"}),
    Fault("allreduce", "all", "allreduce", ALL, {2: "finds_its_error"}),
    Fault("reduce", "early_reduce", "reduce", {0: (1, 2, 3)}, {3: "sums_up_last"},
          may_wait_for={1: (3,), 2: (3,)}),
    Fault("gather", "early_reduce", "gather", {0: (1, 2, 3)}, {1: "collects_results"}),
    Fault("allgather", "all", "allgather", ALL, {3: "names_its_parts"}),
    Fault("scatter", "late_broadcast", "scatter", after_the_root(1, 0, 2, 3), {1: "cuts_the_cake"}),
    Fault("alltoall", "all", "alltoall", ALL, {0: "addresses_letters"}),
    Fault("barrier", "barrier", "barrier", ALL, {2: "forgets_the_time"}),
    Fault("scan", "early_scan", "scan", {1: (0,), 2: (0, 1), 3: (0, 1, 2)}, {1: "counts_before_others"},
          may_wait_for={0: (1,)}),
    Fault("irecv", "late_sender", "wait", {2: (3,)}, {3: "makes_it_wait"}, nonblocking=True),
    Fault("pickled", "late_sender", "recv", {0: (1,)}, until_left=True),
)  # fmt: skip


def test_objects(mpi: Sandbox):
    """Also of mpi4py 3.1, and however many messages it makes of a call."""

    def look() -> dict[str, str]:
        truth, run = record(mpi, "planted_objects.py", 4)
        data = read_waits(mpi, run)
        check_sums(truth, data)
        assert data["unresolved"] == 0
        return {
            **unlike_each(truth, data, OBJECTS),
            **unlike_request(truth, data, "irecv", "irecv", "wait"),
            **not_the_pickling_rank(truth, data),
        }

    assert not settled(look)


def not_the_pickling_rank(truth: Truth, data: Json) -> dict[str, str]:
    """Whether pickling is waited for or is a part of the sending: nobody but the sender has to do with it."""
    wrong = {}
    for entry in entries_at(data, truth.program, truth.marks["WAIT", "pickled"]):
        for cause in entry["causes"]:
            if cause["rank"] != 1 and cause["ns"] > SLACK_S * 1e9:
                wrong[f"pickling is charged to rank {cause['rank']}"] = str(cause)
    return wrong


# ---- threads, libraries ----

IN_A_THREAD = Fault("first", "barrier", "Barrier", everybody(0, 1), {0: "delays_the_first"})
FIRST_OF_A_THREAD = Fault("second", "barrier", "Barrier", everybody(0, 1))


def test_threads(mpi: Sandbox):
    """Each with a communicator of its own; and where messages look alike, they are counted, or right."""

    def look() -> dict[str, str]:
        truth, run = record(mpi, "planted_threads.py", 2)
        data = read_waits(mpi, run)
        check_sums(truth, data, main_threads_only=False)
        return {
            **unlike_fault(truth, data, IN_A_THREAD),
            **unlike_fault(truth, data, FIRST_OF_A_THREAD, charged_in_a_thread(truth)),
            **unlike_any_order(truth, data),
        }

    assert not settled(look)


def charged_in_a_thread(truth: Truth) -> dict[Blame, tuple[float, float]]:
    """What a thread did before its first call may not be known; but nobody else is charged with it."""
    blames = {Blame(rank, name): (0.0, 0.0) for rank in (0, 1) for name in ("first", "second", "main", "at_once")}
    return {**blames, Blame(1, "delays_the_second"): (0.0, waited_in_all(truth, FIRST_OF_A_THREAD))}


def unlike_any_order(truth: Truth, data: Json) -> dict[str, str]:
    """Two receives, two sends, and who has which: in all they waited as long, or it is said that this is not known."""
    sent, received = sorted(truth.entered(0, "alike")), sorted(truth.entered(1, "alike"))
    logged = sum(sent) - sum(received)
    entries = entries_at(data, truth.program, truth.marks["WAIT", "alike"])
    found = sum(entry["waited_ns"] for entry in entries) / 1e9
    least = 0.0 if data["unresolved"] else logged * 0.95 - SLACK_S
    return {} if least <= found <= logged * 1.05 + SLACK_S else {"alike": f"{found:.4f} s, logged {logged:.4f}"}


def test_petsc(debian: Sandbox):
    """The library's own calls, at the line that called it."""
    summed = Fault("sum", "all", "Allreduce", everybody(0, 1), {1: "assembles_slowly"})

    def look() -> dict[str, str]:
        truth, run = record(debian, "planted_petsc.py", 2)
        data = read_waits(debian, run)
        check_sums(truth, data)
        return unlike_fault(truth, data, summed)

    assert not settled(look)
