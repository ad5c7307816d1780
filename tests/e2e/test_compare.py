# SPDX-License-Identifier: BSD-3-Clause
"""`allranks diff` and `allranks scale`, and classes of ranks in `allranks ranks`: on live files made by hand whose every
time is known (heat_writing.py), and on what cProfile leaves.
"""

from __future__ import annotations

import csv
import io
import json
import marshal
import shutil
from pathlib import Path
from typing import Any

import pytest
from harness import Done, Sandbox
from heat_writing import PER_RANK_MS, SETUP_MS, WRITING_MS, write_heat
from live_writing import MS

RELAX_MS = 200  # on each of four ranks
END_MS = SETUP_MS + RELAX_MS + WRITING_MS + 4 * PER_RANK_MS


def check_screen(done: Done, code: int = 0) -> str:
    lines = done.out.splitlines()
    assert done.code == code, str(done)
    assert len(lines) <= 24 and max(map(len, lines)) <= 80, str(done)
    return done.out


def named(rows: list[dict], name: str) -> dict:
    (row,) = (row for row in rows if row["name"] == name)
    return row


def change_ms(change: dict) -> tuple[float, float, bool]:
    return round(change["base"] / MS, 3), round(change["now"] / MS, 3), change["counts"]


@pytest.fixture
def base(python: Sandbox) -> Path:
    return write_heat(python.cwd / "base", 4)


def check_version_1(new: dict[str, Any], old: dict[str, Any]) -> None:
    """The same rows and figures under other names."""
    assert (old["schema"], old["version"]) == ("allranks.diff", 1)
    assert [run["path"] for run in old["base"] + old["now"]] == [run["path"] for run in new["diff_runs"]]
    assert (old["total_ns"], old["mpi_ns"]) == (new["diff"]["wall_ns"], new["diff"]["mpi_ns"])
    figures = ("calls", "time_ns", "self_ns")
    for before, after in ((old["functions"], new["diff_functions"]), (old["paths"], new["diff_paths"])):
        assert [[row[key] for key in figures] for row in before] == [[row[key] for key in figures] for row in after]
    assert [" > ".join(row["path"]) for row in old["paths"]] == [row["path"] for row in new["diff_paths"]]


def test_what_got_slower(python: Sandbox, base: Path):
    """Rank 3 relaxes three times as long, in a file that was edited and moved; the others wait for it."""
    now = write_heat(python.cwd / "now", 4, slow={3: 3}, home="/srv/ada/src", moved=7)
    text = check_screen(python.allranks("diff", base, now))
    assert "total +360.0 ms (+129 %)" in text
    assert "\n relax         solver.py:27    200.0    300.0   +100.0 +50.0 %   +100.0        =\n" in text
    assert "\n solving       region" in text and text.endswith(" 4 functions within noise: -n 0 shows all\n")

    found = json.loads(python.answer("diff", "--json", "--paths", base, now))
    assert (found["schema"], found["command"], found["diff"]["noise_from"]) == (2, "diff", "pairs")
    assert [(run["side"], run["ranks"]) for run in found["diff_runs"]] == [("base", 4), ("now", 4)]
    assert [facts["program"] for facts in found["facts"]] == ["/home/ada/heat.py", "/srv/ada/src/heat.py"]
    assert change_ms(found["diff"]["wall_ns"]) == (END_MS, END_MS + 2 * RELAX_MS - WRITING_MS, True)
    relax = named(found["diff_functions"], "relax")
    assert (relax["base_file"], relax["base_line"]) == ("/home/ada/solver.py", 20)
    assert (relax["now_file"], relax["now_line"]) == ("/srv/ada/src/solver.py", 27)
    assert change_ms(relax["self_ns"]) == (200, 300, True) and relax["calls"] == {"base": 10, "now": 10}
    assert change_ms(named(found["diff_functions"], "setup")["self_ns"]) == (20, 20, False)
    assert change_ms(named(found["diff_functions"], "solving")["time_ns"]) == (END_MS - 20, END_MS + 340, True)
    (path,) = [row for row in found["diff_paths"] if row["function"] == "MPI_Allreduce"]
    assert path["path"] == "main > solving > MPI_Allreduce" and path["line"] == 17
    assert [row["path"] for row in found["diff_paths"] if row["id"] == path["parent"]] == ["main > solving"]
    assert change_ms(path["self_ns"]) == (50, 310, True)
    check_version_1(found, json.loads(python.answer("diff", "--json=1", "--paths", base, now)))

    rows = list(csv.DictReader(io.StringIO(python.answer("diff", "--csv", base, now).decode())))
    assert (named(rows, "relax")["self_now_ns"], named(rows, "relax")["self_counts"]) == (str(300 * MS), "1")
    rows = list(csv.DictReader(io.StringIO(python.answer("diff", "--csv", "--paths", base, now).decode())))
    assert [row["path"] for row in rows] == [row["path"] for row in found["diff_paths"]]
    assert "\n main > solving > relax solver.py:27 " in check_screen(python.allranks("diff", "--paths", base, now))
    assert "\n main          heat.py:10 " in check_screen(python.allranks("diff", "--inclusive", base, now))


def test_noise_and_what_fails(python: Sandbox, base: Path):
    same = check_screen(python.allranks("diff", base, base))
    assert same.endswith("\n nothing has changed\n") and "noise" not in same.partition("total +0.000 ms (+0.0 %)\n")[2][80:]
    shutil.copytree(base, python.cwd / "copy")
    for way in ("--paths", "--inclusive"):
        assert check_screen(python.allranks("diff", way, base, "copy")).endswith("\n nothing has changed\n")

    jitter = {0: 1.3, 1: 0.8, 2: 1.2, 3: 0.75}
    noisy = write_heat(python.cwd / "noisy", 4, jitter=jitter)
    assert not named(json.loads(python.answer("diff", "--json", base, noisy))["diff_functions"], "relax")["self_ns"]["counts"]

    slow = write_heat(python.cwd / "slow", 4, work_ms=1000)  # 250 ms on each: 50 more of 280
    conditions = {
        "total > 17%": 1, "total > 18%": 0, "total > 0.04s": 1, "total > 51ms": 0, "mpi > 10%": 0,
        "relax > 24%": 1, "self of relax > 49 ms": 1, "solver.py:20 > 26%": 0, "region solving > 19%": 1,
        "main > 51ms": 0, "*e* > 24%": 1,
    }  # fmt: skip
    for condition, code in conditions.items():
        done = python.allranks("diff", "--fail-if", condition, base, slow)
        assert done.code == code, str(done)
        assert done.err.startswith(f"allranks: fail-if '{condition}': ") if code else done.err == ""
    both = python.allranks("diff", "--json", "--fail-if", "total > 5%", base, slow, "--fail-if", "mpi > 5%")
    assert both.code == 1 and "total grew by 50.0 ms (+17.9 %), from 280.0 ms to 330.0 ms" in both.err
    assert [(c["condition"], c["holds"]) for c in json.loads(both.out)["diff_conditions"]] == [("total > 5%", True), ("mpi > 5%", False)]

    # Several runs a side: 200 and 210 against 202 and 222 is no difference, against 250 and 251 it is.
    more = [write_heat(python.cwd / f"ms{ms}", 4, work_ms=4 * ms) for ms in (210, 202, 222, 250, 251)]
    for runs, code in ((more[1:3], 0), (more[3:], 1)):
        done = python.allranks("diff", "--fail-if", "relax > 3%", base, more[0], "--", *runs)
        assert done.code == code and "and 1 more" in check_screen(done, code), str(done)
        assert ("within noise, does not count" in done.err) is not bool(code)


def test_two_runs_a_side_are_too_few(python: Sandbox):
    """The mean goes from 97 to 632 ms, and runs are so unlike that Student's t calls it noise."""
    runs = [write_heat(python.cwd / f"ms{ms}", 4, work_ms=4 * ms) for ms in (40, 154, 400, 864)]
    done = python.allranks("diff", "--fail-if", "relax > 3%", *runs[:2], "--", *runs[2:])
    text = check_screen(done)
    assert "\nfewer than 3 runs per side cannot tell a change from noise: ? marks large ones\n" in text
    assert "\n relax         solver.py:20    97.00    632.0   +535.0 +552 %?" in text, text
    assert "too few runs to tell noise, does not count" in done.err
    relax = named(json.loads(python.answer("diff", "--json", *runs[:2], "--", *runs[2:]))["diff_functions"], "relax")
    assert (relax["self_ns"]["counts"], relax["self_ns"]["undecided"]) == (False, True)


def test_other_programs_are_said_to_differ(python: Sandbox, base: Path):
    eight = write_heat(python.cwd / "eight", 8)
    assert "programs differ" not in check_screen(python.allranks("diff", base, base))
    for name in ("first.py", "second.py"):
        (python.cwd / name).write_text("sum(range(1000))\n")
        assert python.recorded(name).code == 0
    line = "\nthe programs differ: first.py and second.py\n"
    assert line in check_screen(python.allranks("diff", "first.allranks", "second.allranks"))
    both = ("first.allranks", "first.allranks", "--", "second.allranks")
    assert line in check_screen(python.allranks("diff", *both))
    assert "\nthe programs differ: first.py and heat.py\n" in check_screen(python.allranks("scale", "first.allranks", eight))


def test_different_numbers_of_ranks(python: Sandbox, base: Path):
    eight = write_heat(python.cwd / "eight", 8)
    text = check_screen(python.allranks("diff", base, eight))
    assert "different numbers of ranks: all times are means per rank" in text
    relax = named(json.loads(python.answer("diff", "--json", base, eight))["diff_functions"], "relax")
    assert change_ms(relax["self_ns"]) == (200, 100, True)


def test_files_of_cprofile(python: Sandbox):
    def stats(name: str, seconds: float) -> Path:
        path = python.cwd / name
        main, solve = ("/a/main.py", 1, "main"), ("/a/main.py", 9, "solve")
        path.write_bytes(marshal.dumps({
            main: (1, 1, 0.5, 0.5 + seconds, {}),
            solve: (3, 3, seconds, seconds, {main: (3, 3, seconds, seconds)}),
        }))  # fmt: skip
        return path

    old, new = stats("old.prof", 1.0), stats("new.prof", 1.5)
    assert " solve         main.py:9       1.000    1.500   +0.500 +50.0 %" in check_screen(python.allranks("diff", old, new))
    done = python.allranks("diff", "--paths", old, new)
    assert done.code == 2 and "pstats files have no call paths (leave --paths out)" in done.err
    for name in ("r_0.prof", "r_1.prof"):
        stats(name, 1.0)
    assert "serial: constant\n" in check_screen(python.allranks("scale", old, "r_*.prof"))


def test_scaling(python: Sandbox):
    runs = [write_heat(python.cwd / f"n{n}", n, work_ms=1600) for n in (8, 1, 2, 16, 4)]
    text = check_screen(python.allranks("scale", *runs))
    assert "5 runs   strong scaling" in text and text.count("\n") < 20
    words = {line.split()[0]: line.rpartition("  ")[2] for line in text.splitlines()[10:]}
    assert words["MPI_Allreduce"] == "grows" and words["relax"] == "scales"
    assert words["write"] == "serial: one rank" and words["setup"] == "serial: constant"

    found = json.loads(python.answer("scale", "--json", *runs))
    assert (found["schema"], found["command"], found["scaling"]["scaling"]) == (2, "scale", "strong")
    assert [run["ranks"] for run in found["scaling_runs"]] == [1, 2, 4, 8, 16]
    first, last = found["scaling_runs"][0], found["scaling_runs"][-1]
    wall, computing = SETUP_MS + 100 + WRITING_MS + 16 * PER_RANK_MS, SETUP_MS + 100 + WRITING_MS / 16
    assert last["wall_ns"] == wall * MS and first["wall_ns"] == 1665 * MS
    assert last["speed_up"] == pytest.approx(1665 / wall)
    assert last["load_balance"] == pytest.approx(computing / 160)
    assert last["communication_efficiency"] == pytest.approx(160 / wall)
    assert last["parallel_efficiency"] == pytest.approx(computing / wall)
    assert last["computation_scaling"] == pytest.approx(1660 / (16 * computing))
    assert last["global_efficiency"] == pytest.approx(last["parallel_efficiency"] * last["computation_scaling"])
    setup = named(found["scaling_functions"], "setup")
    assert setup["verdict"] == "constant" and setup["lost_ns"] == pytest.approx((20 - 20 / 16) * MS)
    relax = [row for row in found["scaling_function_runs"] if row["function"] == "relax"]
    assert [row["self_ns"]["max"] for row in relax] == [1600 * MS // n for n in (1, 2, 4, 8, 16)]
    old = json.loads(python.answer("scale", "--json=1", *runs))
    assert (old["schema"], old["version"], old["scaling"]) == ("allranks.scale", 1, "strong")
    for before, after in zip(old["runs"], found["scaling_runs"]):
        assert {key: after[key] for key in before if key != "facts"} == {key: before[key] for key in before if key != "facts"}
    assert [run["self_ns"]["max"] for run in named(old["functions"], "relax")["by_run"]] == [row["self_ns"]["max"] for row in relax]

    rows = list(csv.DictReader(io.StringIO(python.answer("scale", "--csv", *runs).decode())))
    assert [row["ranks"] for row in rows] == ["1", "2", "4", "8", "16"]
    rows = list(csv.DictReader(io.StringIO(python.answer("scale", "--csv", "--functions", *runs).decode())))
    assert {row["verdict"] for row in rows if row["function"] == "write"} == {"one_rank"}

    weak = [write_heat(python.cwd / f"w{n}", n, work_ms=1600 * n) for n in (1, 8)]
    text = check_screen(python.allranks("scale", "--weak", *weak))
    assert {line.split()[0] for line in text.splitlines() if line.endswith(" scales")} == {"relax", "setup", "write"}
    again = python.allranks("scale", weak[0], weak[0])
    assert again.code == 2 and again.err.startswith(f"allranks: error: {weak[0]}: all runs are on 1 rank (")


def test_classes_of_ranks(python: Sandbox):
    idle = write_heat(python.cwd / "idle", 32, slow=dict.fromkeys(range(20, 32), 0))
    assert " most/mean 1.60; 20 others: 25.00, ranks 20-31: nothing\n" in check_screen(python.allranks("ranks", idle, "relax"))
    eighth = write_heat(python.cwd / "eighth", 32, slow=dict.fromkeys(range(0, 32, 8), 3))
    assert "; every 8th from 0: 75.00, 28 others: 25.00\n" in check_screen(python.allranks("ranks", eighth, "relax"))
    (relax,) = json.loads(python.answer("ranks", "--json=1", eighth, "relax"))["functions"]
    assert relax["max_over_mean"] == pytest.approx(2.4)
    assert relax["classes"][0] == {"mean_ns": 75 * MS, "min_ns": 75 * MS, "max_ns": 75 * MS, "ranks": [0, 8, 16, 24]}
    assert "; all alike\n" in python.answer("ranks", eighth, "setup").decode()
