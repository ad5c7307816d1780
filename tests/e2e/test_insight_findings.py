# SPDX-License-Identifier: BSD-3-Clause
"""The sentences on the first screen of `allranks report`: each fault that is planted is found, as what it is and where it is, and
where there is none nothing is said.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import Sandbox, settled, workload
from truth import Json

MOST = 7
SCREEN_LINES = 24
RULES = {
    "imbalance", "serial_phase", "late_sender", "late_receiver", "wait", "pickling", "small_messages", "no_overlap",
    "io_on_one_rank", "imports", "idle_ranks", "slow_node", "oversubscription", "overhead", "polling",
}  # fmt: skip
PROCESSORS = len(os.sched_getaffinity(0))
HELD_BACK = workload("held_back.py")


@dataclass(frozen=True)
class Planted:
    fault: str  # a function of held_back.py
    rules: tuple[str, ...]  # any of these says it
    n_ranks: int = 4
    never: tuple[str, ...] = ()  # what it is not
    ranks: tuple[int, ...] = ()  # that the sentence is about, where it is about some
    said: str = ""  # that must be in the text


PLANTED = (
    Planted("imbalance", ("imbalance",)),
    Planted("slow_rank", ("imbalance", "wait"), never=("idle_ranks",)),
    Planted("wandering", ("wait",), never=("imbalance", "idle_ranks", "serial_phase")),
    Planted("serial_phase", ("serial_phase",), never=("io_on_one_rank",), said="assembles_alone"),
    Planted("idle_ranks", ("idle_ranks",), ranks=(2, 3)),
    Planted("late_sender", ("late_sender",), 2, never=("late_receiver", "pickling"), said="produces"),
    Planted("late_receiver", ("late_receiver",), 2, never=("late_sender", "pickling"), said="consumes"),
    Planted("pickling", ("pickling",), 2, never=("small_messages",)),
    Planted("small_messages", ("small_messages",), 2, never=("pickling",)),
    Planted("no_overlap", ("no_overlap",), 2, never=("small_messages", "pickling")),
    Planted("io_on_one_rank", ("io_on_one_rank",), said="writes_checkpoint"),
    Planted("imports", ("imports",), said="slow_to_import"),
    Planted("overhead", ("overhead",), 2),
    Planted("oversubscription", ("oversubscription",), 2 * PROCESSORS),
    Planted("child_process", ("serial_phase", "wait"), said="waiting for a child process"),
)


def found_in(mpi: Sandbox, run: str) -> list[Json]:
    """Whatever there is must be worth reading, and lead somewhere."""
    report = mpi.report(run)
    findings = report.data["findings"]
    assert len(findings) <= MOST
    assert [each["won_ns"] for each in findings] == sorted((each["won_ns"] for each in findings), reverse=True)
    for finding in findings:
        assert finding["rule"] in RULES
        assert 0 < finding["won_ns"] <= report.data["wall_ns"] * report.data["ranks"]
        assert finding["text"] == finding["text"].strip() != ""
        assert re.search(r"\d", finding["text"]), "no figure in it"
        command, *words = shlex.split(finding["command"])
        done = mpi.allranks(*words)
        assert (command, done.code, done.err) == ("allranks", 0, ""), done
        if words[0] == "waits" and len(words) == 3:
            assert waits_at(finding["text"]) == waits_at(" ".join(done.out.split())), done
    return findings


def waits_at(text: str) -> str:
    """Which wait a sentence is about."""
    found = re.search(r" waited .*?\) ((?:at|in) \S+ \S+) ", text)
    assert found, text
    return found[1]


UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def durations_in(text: str) -> list[float]:
    return [float(number) * UNITS[unit] for number, unit in re.findall(r"(\d[\d.]*) (s|ms|us)\b", text)]


def found_seconds(pattern: str, text: str) -> float:
    """The duration that the pattern ends with."""
    found = re.search(pattern + r"(\d[\d.]* (?:s|ms|us))\b", " ".join(text.split()))
    return durations_in(found[1])[0] if found else float("nan")


OWN_TIME = r"self(?: with C)?, (sec|ms|mil)\w* +mean ([\d.]+), sd \S+ least \S+ \(\d+\), most ([\d.]+) \((\d+)\)"


def said_and_shown(finding: Json, words: list[str], screen: str) -> list[tuple[float, float]]:
    """Figures of a finding, and those in the same role on the screen of its command."""
    text = finding["text"]
    if words[0] == "waits" and words[1] == "--ranks":
        return [(found_seconds("did nothing but wait, ", text), found_seconds(" waiting ", screen))]
    if words[0] == "waits":
        of_all = "all waits at this line: " if "all waits at this line" in text else " waited "
        return [(found_seconds(of_all, text), found_seconds(r" waited ", screen.partition("\n")[2]))]
    if words[0] == "ranks":
        unit, mean, most, rank = re.findall(OWN_TIME, screen)[-1]  # the last is that with C
        seconds = 1.0 if unit == "sec" else 1e-3
        assert f" on rank {rank} and " in text
        return [(found_seconds(" takes ", text), float(most) * seconds),
                (found_seconds(r" on rank \d+ and ", text), float(mean) * seconds)]  # fmt: skip
    if finding["rule"] == "pickling":
        row = re.search(rf":{finding['line']} +\S+ +([\d.]+)", screen)
        assert row, screen
        unit = 1e-3 if re.search(r"\bms +%", screen) else 1.0
        return [(found_seconds(" of its ", text), float(row[1]) * unit)]
    before = r"moves data for " if finding["rule"] == "no_overlap" else r" each at \S+ \S+ "
    return [(found_seconds(before, text), found_seconds(r"the rest of MPI ", screen))]


def unlike_command(mpi: Sandbox, finding: Json) -> dict[str, str]:
    """The command that a finding names shows the place and the seconds that the finding names."""
    _, *words = shlex.split(finding["command"])
    screen = mpi.answer(*words).decode()
    said = f"{finding['text']}\n{screen}"
    if words[0] in ("info", "report"):
        return {}
    if finding["line"] and not re.search(rf":{finding['line']}\b", screen):
        return {"another place": said}
    if "no groups of ranks" in screen or "all alike" in screen:
        return {"no imbalance": said}
    figures = said_and_shown(finding, words, screen)
    are_equal = all(a == pytest.approx(b, rel=0.006, abs=0.0006) for a, b in figures)
    return {} if are_equal else {"other seconds": f"{figures}\n{said}"}


@pytest.mark.parametrize("fault, n_ranks", [(planted.fault, planted.n_ranks) for planted in PLANTED[:12]])
def test_the_command_shows_what_the_finding_says(one_mpi: Sandbox, fault: str, n_ranks: int):
    done = one_mpi.recorded_ranks(n_ranks, HELD_BACK, fault)
    assert done.code == 0, done
    wrong = [unlike_command(one_mpi, finding) for finding in found_in(one_mpi, "held_back.allranks")]
    assert not any(wrong), wrong
    told = [json.loads(one_mpi.answer(*words, "--json=1", "held_back.allranks")) for words in (("report",), ("ranks",))]
    assert told[0]["efficiency"] == told[1]["efficiency"]


TWO_WAYS = """\
import time
from mpi4py import MPI

world = MPI.COMM_WORLD

def meets():
    world.Barrier()

def first():
    time.sleep(0.4 if world.rank == 0 else 0)
    meets()

def second():
    time.sleep(0.1 if world.rank == 0 else 0)
    meets()

world.Barrier()
first()
second()
"""


def test_a_function_has_its_own_waits_of_a_line(one_mpi: Sandbox):
    (one_mpi.cwd / "ways.py").write_text(TWO_WAYS)
    assert one_mpi.recorded_ranks(2, "ways.py").code == 0
    waits = json.loads(one_mpi.answer("waits", "--json=1", "ways.allranks"))["waits"]
    whole = sum(site["waited_ns"] for site in waits if site["line"] == 7)
    screens = [one_mpi.answer("mpi", "ways.allranks", name).decode() for name in ("first", "second")]
    parts = [found_seconds("waiting for other ranks ", screen) for screen in screens]
    assert sum(parts) == pytest.approx(whole / 1e9, rel=0.01)
    assert parts[0] > 2 * parts[1] > 0.1


def test_two_ranks_that_differ_are_not_alike(one_mpi: Sandbox):
    """Two ranks are too few for groups, and yet an imbalance is said where there is one."""
    done = one_mpi.recorded_ranks(2, HELD_BACK, "imbalance")
    assert done.code == 0, done
    findings = [each for each in found_in(one_mpi, "held_back.allranks") if each["rule"] == "imbalance"]
    assert findings
    wrong = [unlike_command(one_mpi, finding) for finding in findings]
    assert not any(wrong), wrong


def test_waits_are_the_same_in_mpi(one_mpi: Sandbox):
    """As sums over ranks: of a method, and of all of them."""
    done = one_mpi.recorded_ranks(2, HELD_BACK, "pickling")
    assert done.code == 0, done
    mpi = json.loads(one_mpi.answer("mpi", "--json=1", "held_back.allranks"))
    waits = json.loads(one_mpi.answer("waits", "--json=1", "held_back.allranks"))
    assert {row["name"] for row in mpi["paths"] if row["operation"]} >= {"Comm.send", "Comm.recv"}
    for row in mpi["paths"]:
        if row["operation"] and row["name"] in ("Comm.send", "Comm.recv"):
            waited = sum(site["waited_ns"] for site in waits["waits"] if site["line"] == row["line"])
            assert row["waiting_ns"] == pytest.approx(min(waited, row["within_mpi_ns"]))
            assert row["waiting_ns"] + row["transferring_ns"] == pytest.approx(row["within_mpi_ns"])


def places(fault: str) -> set[int]:
    lines = Path(HELD_BACK).read_text().splitlines()
    return {number for number, text in enumerate(lines, start=1) if text.endswith(f"# HERE: {fault}")}


def ranks_of(finding: Json) -> set[int]:
    return set(finding["ranks"]) if "ranks" in finding else {finding["rank"]}


def unlike_planted(mpi: Sandbox, run: str, planted: Planted) -> dict[str, str]:
    findings = found_in(mpi, run)
    heard = str([each["text"] for each in findings])
    wrong = {f"is no {each['rule']}": each["text"] for each in findings if each["rule"] in planted.never}
    said = [each for each in findings if each["rule"] in planted.rules]
    if not said:
        return {**wrong, "not found": heard}
    if places(planted.fault):
        said = [each for each in said if (each["file"], each["line"]) in {(HELD_BACK, n) for n in places(planted.fault)}]
    said = [each for each in said if planted.said in each["text"] and set(planted.ranks) <= ranks_of(each)]
    if not said:
        return {**wrong, "found elsewhere": heard}
    return {**wrong, **not_on_screen(mpi, run, findings[0])}


def not_on_screen(mpi: Sandbox, run: str, first: Json) -> dict[str, str]:
    """People read it without scrolling."""
    screen = mpi.answer("report", run).decode().splitlines()[:SCREEN_LINES]
    seen = " ".join(" ".join(screen).split())
    start = " ".join(first["text"].split()[:4])
    return {} if start in seen else {"not on the first screen": first["text"]}


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.fault)
def test_a_fault_is_found(one_mpi: Sandbox, planted: Planted):
    if planted.n_ranks > 16:
        pytest.skip("a machine with so many processors is hard to fill")
    if planted.fault in ("small_messages", "no_overlap") and planted.n_ranks > PROCESSORS:
        pytest.skip("ranks that share a processor wait for their turn in the same calls")

    def look() -> dict[str, str]:
        for name in ("held_back.allranks", "disk"):
            (one_mpi.cwd / name).unlink(missing_ok=True)
        done = one_mpi.recorded_ranks(planted.n_ranks, HELD_BACK, planted.fault)
        assert done.code == 0, done
        return unlike_planted(one_mpi, "held_back.allranks", planted)

    assert not settled(look)


def on_hosts(mpi: Sandbox, n_ranks: int, ranks_a_host: int, *program: str) -> str | None:
    """A run on hosts that are several by their names only: node0, node1, …; None: not with this launcher."""
    rank = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
    in_own_host = f'exec unshare --uts sh -c "hostname node$(({rank} / {ranks_a_host})); exec \\"\\$@\\"" sh "$@"'
    run = f"{Path(program[0]).stem}.allranks"
    (mpi.cwd / run).unlink(missing_ok=True)
    words = mpi.recorder("--live-dir", str(mpi.cwd / "shared"))
    done = mpi.run(mpi.ranks(n_ranks, "sh", "-c", in_own_host, "sh", *words, *program))
    assert done.code == 0, done
    return run if (mpi.cwd / run).exists() else None


HAS_HOSTS = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("unshare"), reason="host names of one's own need root"
)


@HAS_HOSTS
def test_a_slow_node_is_found(one_mpi: Sandbox):
    """Its ranks, and by its name."""

    def look() -> dict[str, str]:
        run = on_hosts(one_mpi, 6, 2, HELD_BACK, "slow_node")
        if not run:
            pytest.skip("this launcher names its jobs after the host")
        return unlike_planted(one_mpi, run, Planted("slow_node", ("slow_node",), ranks=(2, 3), said="node1"))

    assert not settled(look)


# ---- nothing to say ----


def false_alarms(mpi: Sandbox, run: str) -> dict[str, str]:
    return {finding["rule"]: finding["text"] for finding in found_in(mpi, run)}


def assert_silence(mpi: Sandbox, program: str) -> None:
    """Whatever is said in one run may be true of that one: a machine does other things, too. But not in each of them."""

    def look() -> dict[str, str]:
        for path in mpi.cwd.iterdir():
            path.unlink()
        done = mpi.recorded_ranks(2, workload("not_held_back.py"), program)
        assert done.code == 0, done
        return false_alarms(mpi, "not_held_back.allranks")

    assert not settled(look)


HAS_TWO = pytest.mark.skipif(PROCESSORS < 2, reason="two ranks on one processor are a finding")


@HAS_TWO
@pytest.mark.parametrize("program", ["overlapping", "talks_a_little"])
def test_messages_that_are_no_finding(mpi: Sandbox, program: str):
    assert_silence(mpi, program)


@HAS_TWO
@pytest.mark.parametrize("program", ["balanced", "meets_at_its_end"])
def test_equal_ranks_are_no_finding(one_mpi: Sandbox, program: str):
    assert_silence(one_mpi, program)


@HAS_TWO
def test_noise_is_no_imbalance(one_mpi: Sandbox):
    def look() -> dict[str, str]:
        (one_mpi.cwd / "not_held_back.allranks").unlink(missing_ok=True)
        done = one_mpi.recorded_ranks(4, workload("not_held_back.py"), "noisy")
        assert done.code == 0, done
        screen = one_mpi.answer("report", "not_held_back.allranks").decode()
        return {"imbalance": screen} if "Imbalance" in screen else {}

    assert not settled(look)


@HAS_HOSTS
@HAS_TWO
def test_equal_nodes_are_no_finding(one_mpi: Sandbox):
    def look() -> dict[str, str]:
        run = on_hosts(one_mpi, 2, 1, workload("not_held_back.py"), "balanced")
        if not run:
            pytest.skip("this launcher names its jobs after the host")
        return false_alarms(one_mpi, run)

    assert not settled(look)


def test_one_rank_has_nobody_to_wait_for(one_mpi: Sandbox):
    done = one_mpi.recorded_ranks(1, workload("not_held_back.py"), "nobody_else")
    assert done.code == 0, done
    assert found_in(one_mpi, "not_held_back.allranks") == []


def test_a_program_without_mpi(one_mpi: Sandbox):
    (one_mpi.cwd / "sleeps.py").write_text("import time\ntime.sleep(0.5)\n")
    done = one_mpi.recorded("sleeps.py")
    assert done.code == 0, done
    assert found_in(one_mpi, "sleeps.allranks") == []
