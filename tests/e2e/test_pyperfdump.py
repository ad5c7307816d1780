# SPDX-License-Identifier: BSD-3-Clause
"""The drop-in for PyPerfDump: each line of its README, with counters that are known to the digit, alone, recorded and on ranks."""

from __future__ import annotations

import csv
import functools
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import Done, Sandbox, own_copy, workload

README = workload("pyperfdump_readme.py")
SCRIPT = workload("pyperfdump_script.py")
AS = ("-q", "--as", "pyperfdump", "-o", "run.allranks")
EVENTS = {"PAPI_TOT_INS": 10, "PAPI_L3_TCM": 1, "stand_in:::ENERGY": 100}  # see papi_stand_in.c: by unit of work
SYSTEM_PYTHON = "/usr/bin/python3"

READER = """
import h5py, json, sys
found = {}
def visit(name, item):
    if isinstance(item, h5py.Dataset):
        found[name] = [str(item.dtype), item.shape, item.maxshape, item.chunks, item[()].tolist()]
with h5py.File(sys.argv[1], "r") as file:
    file.visititems(visit)
print(json.dumps(found))
"""


@functools.cache
def has_h5py() -> bool:
    return bool(shutil.which(SYSTEM_PYTHON)) and subprocess.run(
        [SYSTEM_PYTHON, "-c", "import h5py"], capture_output=True, check=False
    ).returncode == 0  # fmt: skip


needs_hdf5 = pytest.mark.skipif(not has_h5py(), reason="the system's Python has no h5py")


def read_hdf5(path: Path) -> dict[str, list[Any]]:
    """By dataset: type, shape, largest shape, chunks, values."""
    done = subprocess.run([SYSTEM_PYTHON, "-c", READER, str(path)], capture_output=True, check=True)
    found: dict[str, list[Any]] = json.loads(done.stdout)
    return found


def read_csv(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def counts(path: Path) -> list[list[str]]:
    """The rows without those of times."""
    return [row for row in read_csv(path) if row[-2] != "Runtime"]


def with_shim(sandbox: Sandbox) -> dict[str, str]:
    env = own_copy(sandbox)
    done = sandbox.plain("-m", "allranks", "install-shims", "pyperfdump", env=env)
    assert (done.code, done.out) == (0, f"pyperfdump: installed, {env['PYTHONPATH']}/pyperfdump.py\n"), done
    return env


def environment(papi: str, **variables: str) -> dict[str, str]:
    return {"ALLRANKS_PAPI": papi, "PDUMP_EVENTS": ",".join(EVENTS), **variables}


def script(sandbox: Sandbox, papi: str, words: str, n_ranks: int = 0, **variables: str) -> Done:
    """Recorded, with CSV unless the variables say else."""
    env = environment(papi, **{"PDUMP_OUTPUT_FORMAT": "csv", **variables})
    (sandbox.cwd / "run.allranks").unlink(missing_ok=True)
    if n_ranks:
        return sandbox.recorded_ranks(n_ranks, SCRIPT, "mpi", *words.split(), options=AS, env=env)
    return sandbox.recorded(SCRIPT, *words.split(), options=AS, env=env)


def metrics(sandbox: Sandbox, path: str = "run.allranks") -> dict[tuple[str, str, int], int]:
    """By region, event and rank, as allranks.load has them."""
    program = f"""
import json, allranks
run = allranks.load({path!r}, as_="python")
tree, threads = run.table("tree"), run.table("threads")
rows = []
for metric in {list(EVENTS)!r} + ["perf::PAGE-FAULTS"]:
    if metric not in run.metrics:
        continue
    values = run.values(metric)
    for node, thread, value in zip(values["node"], values["thread"], values[metric]):
        rows.append([tree["function"][int(node)], metric, max(threads["rank"][int(thread)], 0), int(value)])
print(json.dumps(rows))
"""
    done = sandbox.plain("-c", program)
    assert done.code == 0, done
    found: dict[tuple[str, str, int], int] = {}
    for region, metric, rank, value in json.loads(done.out):
        found[region, metric, rank] = found.get((region, metric, rank), 0) + value
    return found


# ---- the README ----


def test_the_readme_as_csv(any_python: Sandbox, papi: str) -> None:
    env = {**with_shim(any_python), **environment(papi, PDUMP_OUTPUT_FORMAT="csv")}
    for n_runs in (1, 2):
        done = any_python.plain(README, env=env)
        assert (done.code, done.out, done.err) == (0, "", ""), done
        rows = read_csv(any_python.cwd / "perf_dump.csv")
        one_run = [["region1", event, str(5 * unit)] for event, unit in EVENTS.items()]
        assert [row for row in rows if row[1] != "Runtime"] == one_run * n_runs
        assert [row[:2] for row in rows[3::4]] == [["region1", "Runtime"]] * n_runs
        assert all(0 < float(row[2]) < 10 for row in rows[3::4])
    assert any_python.files() == {"perf_dump.csv"}


@needs_hdf5
def test_the_readme_as_hdf5(any_python: Sandbox, papi: str) -> None:
    """HDF5 is what it writes where nothing else is asked for."""
    env = {**with_shim(any_python), **environment(papi)}
    for n_runs in (1, 2, 3):
        done = any_python.plain(README, env=env)
        assert (done.code, done.out, done.err) == (0, "", ""), done
        found = read_hdf5(any_python.cwd / "perf_dump.h5")
        shape = [[1, 1, n_runs + 1], [1, 1, None], [1, 1, 1]]
        *saves, last = found.pop("region1/Runtime")[4][0][0]
        assert last == 0 and len(saves) == n_runs and all(0 < each < 10 for each in saves)
        assert found == {
            f"region1/{event}": ["int64", *shape, [[[5 * unit] * n_runs + [0]]]] for event, unit in EVENTS.items()
        }
    assert any_python.files() == {"perf_dump.h5"}


def test_the_readme_recorded(any_python: Sandbox, papi: str) -> None:
    for options, more in (("--as", {}), ("shim", with_shim(any_python))):
        (any_python.cwd / "run.allranks").unlink(missing_ok=True)
        (any_python.cwd / "perf_dump.csv").unlink(missing_ok=True)
        how = AS if options == "--as" else ("-q", "-o", "run.allranks")
        done = any_python.recorded(README, options=how, env={**more, **environment(papi, PDUMP_OUTPUT_FORMAT="csv")})
        assert (done.code, done.out, done.err) == (0, "", ""), done
        assert counts(any_python.cwd / "perf_dump.csv") == [["region1", event, str(5 * unit)] for event, unit in EVENTS.items()]
        report = json.loads(any_python.answer("report", "--json", "run.allranks"))
        assert {(row["function"], row["metric"]): row["value"] for row in report["tree_metrics"]} == {
            ("region1", event): 5 * unit for event, unit in EVENTS.items()
        }
        names = {row["name"] for row in report["functions"]} - {"(pyperfdump)"}
        assert {"region1", "interesting_work_function"} <= names
        assert not {name for name in names if "perfdump" in name or "pdump" in name or name in ("save", "_begin", "join")}


@needs_hdf5
@pytest.mark.parametrize("form", ["csv", "hdf5"])
def test_the_readme_on_ranks(mpi: Sandbox, papi: str, form: str) -> None:
    for n_ranks in (1, 4):
        (mpi.cwd / "run.allranks").unlink(missing_ok=True)
        env = environment(papi, PDUMP_OUTPUT_FORMAT=form, PDUMP_FILENAME=f"of{n_ranks}")
        done = mpi.recorded_ranks(n_ranks, README, "mpi", options=AS, env=env)
        assert (done.code, done.out, done.err) == (0, "", ""), done
        expected = {("region1", event, rank): (5 + rank) * unit for event, unit in EVENTS.items() for rank in range(n_ranks)}
        assert metrics(mpi) == expected
        if form == "csv":
            rows = read_csv(mpi.cwd / f"of{n_ranks}.csv")
            order = [(rank, event) for rank in range(n_ranks) for event in (*EVENTS, "Runtime")]
            assert [(int(row[0]), row[2]) for row in rows] == order
            assert {(row[1], row[2], int(row[0])): int(row[3]) for row in rows if row[2] != "Runtime"} == expected
            assert all(len(row[3].partition(".")[2]) == 7 for row in rows if row[2] == "Runtime")
        else:
            found = read_hdf5(mpi.cwd / f"of{n_ranks}.{n_ranks}.h5")
            shape = [[n_ranks, 1, 2], [n_ranks, 1, None], [n_ranks, 1, 1]]
            runtime = found.pop("region1/Runtime")
            assert runtime[:4] == ["float64", *shape] and all(0 < row[0][0] < 10 and row[0][1] == 0 for row in runtime[4])
            assert found == {
                f"region1/{event}": ["int64", *shape, [[[(5 + rank) * unit, 0]] for rank in range(n_ranks)]]
                for event, unit in EVENTS.items()
            }


# ---- regions and profiles ----


def test_regions_profiles_and_generic_names(python: Sandbox, papi: str) -> None:
    words = (
        "init start_region=a start_profile work=1 end_profile work=50 start_profile work=2 sleep=0.2 end_profile end_region "
        "start_region end_region start_region_number start_profile work=4 end_profile end_region finalize work=9 "
        "init start_region= start_profile work=8 end_profile end_region finalize"
    )
    done = script(python, papi, words, PDUMP_EVENTS="PAPI_TOT_INS")
    assert (done.code, done.err) == (0, ""), done
    rows = read_csv(python.cwd / "perf_dump.csv")
    units = {"a": 3, "region_2": 0, "region_3": 4, "region_4": 8}
    assert rows[::2] == [[name, "PAPI_TOT_INS", str(10 * n)] for name, n in units.items()]
    assert [row[:2] for row in rows[1::2]] == [[name, "Runtime"] for name in units]
    assert 0.2 <= float(rows[1][2]) < 0.4 and rows[3][2] == "0"
    assert metrics(python) == {(name, "PAPI_TOT_INS", 0): 10 * n for name, n in units.items() if n}


@needs_hdf5
def test_saves_of_one_region(python: Sandbox, papi: str) -> None:
    once = "start_region={0} start_profile work={1} end_profile end_region"
    words = " ".join(once.format(*each) for each in (("a", 1), ("b/c", 2), ("a", 3), ("/b//c/", 4), (".", 5)))
    done = script(python, papi, f"init {words} finalize", PDUMP_EVENTS="PAPI_TOT_INS", PDUMP_OUTPUT_FORMAT="hdf5")
    assert (done.code, done.err) == (0, ""), done
    found = {name: each[4][0][0] for name, each in read_hdf5(python.cwd / "perf_dump.h5").items() if "Runtime" not in name}
    assert found == {"a/PAPI_TOT_INS": [10, 30, 0], "b/c/PAPI_TOT_INS": [20, 40, 0], "_/PAPI_TOT_INS": [50, 0]}


def test_known_pages(any_python: Sandbox, papi: str) -> None:
    words = "init start_region=a start_profile touch=1000 end_profile touch=300 end_region"
    done = script(any_python, papi, words, PDUMP_EVENTS="perf::PAGE-FAULTS")
    if "PAPI WARNING" in done.err:
        pytest.skip(done.err)
    assert (done.code, done.err) == (0, ""), done
    ((region, event, pages),) = counts(any_python.cwd / "perf_dump.csv")
    assert (region, event) == ("a", "perf::PAGE-FAULTS") and 1000 <= int(pages) <= 1012
    assert metrics(any_python) == {("a", "perf::PAGE-FAULTS", 0): int(pages)}


# ---- out of order ----

STATES = (
    "Not initialized",
    "Initialized, not within a region",
    "Initialized and within a region, not profiling",
    "Initialized and profiling within a region",
)
SAID = {
    "init": "Already initialized",
    "start_region=x": "Cannot start a region here",
    "start_profile": "Cannot start profiling here",
    "end_profile": "No profile to end",
    "end_region": "No region to end",
}
INTO = ("", "init", "init start_region=a", "init start_region=a start_profile work=1")


@pytest.mark.parametrize("state", range(4))
def test_calls_out_of_order(python: Sandbox, papi: str, state: int) -> None:
    right = ({"init"}, {"start_region=x", "finalize"}, {"start_profile", "end_region"}, {"end_profile"})[state]
    for word in {*SAID, "finalize"} - right:
        said = SAID.get(word, "Can't finalize before initialization" if state == 0 else "Finalize called out of order")
        if (state, word) == (3, "end_region"):
            said = "Implicitly ending profile with call to end region"
        for silenced in ("", "0", "1"):
            (python.cwd / "perf_dump.csv").unlink(missing_ok=True)
            done = script(python, papi, f"{INTO[state]} {word}", PDUMP_EVENTS="PAPI_TOT_INS", PDUMP_SILENCE_WARNINGS=silenced)
            expected = "" if silenced == "1" else f"PyPerfDump WARNING: {said}\nPyPerfDump STATE: {STATES[state]}\n"
            assert (done.code, done.out, done.err) == (0, "", expected), (word, done)
            saved = state > 1 and word in ("end_region", "finalize")
            value = str(10 if state == 3 else 0)
            assert python.files() - {"run.allranks"} == ({"perf_dump.csv"} if saved else set())
            assert not saved or counts(python.cwd / "perf_dump.csv") == [["a", "PAPI_TOT_INS", value]]


# ---- which events ----


def test_events_and_codes(python: Sandbox, papi: str) -> None:
    once = "init start_region=a start_profile work=1 end_profile end_region"
    every = [["a", event, str(unit)] for event, unit in EVENTS.items()]
    codes = "-2147483598,-2147483640,1073741825"
    for variables in (
        {"PDUMP_EVENTS": " PAPI_TOT_INS , PAPI_L3_TCM,,stand_in:::ENERGY,"},
        {"PDUMP_EVENTS": "PAPI_TOT_INS;PAPI_L3_TCM;stand_in:::ENERGY", "PDUMP_DELIMITER": ";,"},
        {"PDUMP_EVENTS": "PAPI_TOT_INS PAPI_L3_TCM stand_in:::ENERGY", "PDUMP_DELIMITER": " "},
        {"PDUMP_EVENTS": ",".join(EVENTS), "PDUMP_CODES": "0x8000003b", "PDUMP_DELIMITER": ""},
        {"PDUMP_EVENTS": "", "PDUMP_CODES": codes},
        {"PDUMP_EVENTS": "", "PDUMP_CODES": codes.replace(",", ":"), "PDUMP_DELIMITER": ":"},
        {"PDUMP_EVENTS": "", "PDUMP_CODES": "0x80000032,0X80000008,0x40000001"},
    ):
        (python.cwd / "perf_dump.csv").unlink(missing_ok=True)
        done = script(python, papi, once, **variables)
        assert (done.code, done.err) == (0, ""), done
        assert counts(python.cwd / "perf_dump.csv") == every


def test_what_cannot_be_counted_is_said_with_the_reason(python: Sandbox, papi: str) -> None:
    once = "init start_region=a start_profile work=1 end_profile end_region"
    no_event = "PAPI 7.0 has no such event here"
    names = "PAPI_XYZ,nonsense,PAPI_TOT_INS,PAPI_BR_MSP,PAPI_TOT_INS,PAPI_TOT_CYC,PAPI_FP_OPS,PAPI_L1_DCM,PAPI_L3_TCM"
    done = script(python, papi, once, PDUMP_EVENTS=names)
    lines = done.err.splitlines()
    assert done.code == 0 and all(line.startswith("PAPI WARNING: Unable to ") for line in lines), done
    said = [line.partition("Unable to ")[2] for line in lines]
    assert said[:2] == [
        f'get code from "PAPI_XYZ", {no_event} (try: papi_avail)',
        'get code from "nonsense", no such counter (try: allranks counters)',
    ]
    assert said[2].startswith('add "PAPI_BR_MSP", ') and len(said[2]) > 30
    assert said[3:] == [
        'add "PAPI_TOT_INS", it is counted already (name it once)',
        'add "PAPI_L3_TCM", the processor cannot count it together with the others (ask for fewer)',
    ]
    assert [row[1] for row in counts(python.cwd / "perf_dump.csv")] == names.split(",")[2:3] + names.split(",")[5:8]
    done = script(python, papi, once, PDUMP_EVENTS="", PDUMP_CODES="abc,77,0x80000032,0x8000002e,99999999999")
    said = [line.partition("Unable to ")[2] for line in done.err.splitlines()]
    assert said[:2] == ['get name from "abc", it is not a number', f'get name from "77", {no_event} (Event does not exist)']
    assert said[2].startswith('add "0x8000002e", ')
    assert said[3:] == ['get name from "99999999999", no number of PAPI (it has 32 bits)']


def test_nothing_to_count_is_an_error(python: Sandbox, papi: str) -> None:
    words = "tries_init set=PDUMP_EVENTS:PAPI_XYZ tries_init set=PDUMP_EVENTS: set=PDUMP_CODES:77 tries_init"
    again = "start_region set=PDUMP_EVENTS:PAPI_TOT_INS init start_region=a start_profile work=1 end_profile end_region"
    done = script(python, papi, f"{words} {again}", PDUMP_EVENTS="")
    assert done.code == 0, done
    state = "PyPerfDump STATE: Not initialized"
    first, *others = done.out.splitlines()[::2]
    assert first == "PyPerfDump ERROR: Neither PDUMP_EVENTS nor PDUMP_CODES is set (to one or more of: allranks counters)"
    assert [line[:51] for line in others] == [
        "PyPerfDump ERROR: No valid event in PDUMP_EVENTS (U",
        "PyPerfDump ERROR: No valid code in PDUMP_CODES (Una",
    ]
    assert done.out.splitlines()[1::2] == [state] * 3
    assert done.err.endswith(f"PyPerfDump WARNING: Cannot start a region here\n{state}\n")
    assert counts(python.cwd / "perf_dump.csv") == [["a", "PAPI_TOT_INS", "10"]]
    done = script(python, papi, "init", PDUMP_EVENTS="PAPI_BR_MSP")
    assert done.code == 1 and "\npyperfdump.error: PyPerfDump ERROR: No valid event in PDUMP_EVENTS (" in done.err
    assert done.err.count('/compat/') == 1, "one frame of ours"


# ---- files ----

ONCE = "init start_region=a start_profile work=1 end_profile end_region"


def test_names_of_files(python: Sandbox, papi: str) -> None:
    """A directory that is not there is made."""
    for variables, path in (
        ({"PDUMP_DUMP_DIR": "dumps/today"}, "dumps/today/perf_dump"),
        ({"PDUMP_DUMP_DIR": "dumps/", "PDUMP_FILENAME": "mine.too"}, "dumps/mine.too"),
        ({"PDUMP_DUMP_DIR": "", "PDUMP_FILENAME": ""}, "perf_dump"),
    ):
        for form, ending in (("csv", ".csv"), ("CSV", ".csv"), *([("hdf5", ".h5"), ("", ".h5")] if has_h5py() else [])):
            done = script(python, papi, ONCE, PDUMP_OUTPUT_FORMAT=form, **variables)
            assert (done.code, done.err) == (0, ""), done
            assert python.files() - {"run.allranks"} == {path + ending}
            (python.cwd / (path + ending)).unlink()


def test_where_hdf5_cannot_be_used(python: Sandbox, papi: str) -> None:
    row = [["a", "PAPI_TOT_INS", "10"]]
    for form in ("hdf5", ""):
        done = script(python, papi, ONCE, PDUMP_EVENTS="PAPI_TOT_INS", PDUMP_OUTPUT_FORMAT=form, ALLRANKS_HDF5="/nowhere/libhdf5.so")
        assert done.err == (
            "PyPerfDump WARNING: HDF5 cannot be used: ALLRANKS_HDF5=/nowhere/libhdf5.so: No such file or directory; "
            "regions are saved in ./perf_dump.csv\n"
        )
    assert counts(python.cwd / "perf_dump.csv") == row * 2
    done = script(python, papi, ONCE, PDUMP_EVENTS="PAPI_TOT_INS", PDUMP_OUTPUT_FORMAT="hdf5", ALLRANKS_HDF5=papi)
    assert "no HDF5 library of version 1.10 or later" in done.err and done.err.count("\n") == 1
    assert counts(python.cwd / "perf_dump.csv") == row * 3
    assert python.files() == {"perf_dump.csv", "run.allranks"}


@needs_hdf5
def test_a_file_that_is_something_else(python: Sandbox, papi: str) -> None:
    (python.cwd / "perf_dump.h5").write_text("not HDF5")
    done = script(python, papi, ONCE, PDUMP_EVENTS="PAPI_TOT_INS", PDUMP_OUTPUT_FORMAT="hdf5")
    assert done.err == (
        "PyPerfDump WARNING: ./perf_dump.h5: file signature not found; region a is saved in ./perf_dump.csv\n"
    )
    assert counts(python.cwd / "perf_dump.csv") == [["a", "PAPI_TOT_INS", "10"]]
    assert (python.cwd / "perf_dump.h5").read_text() == "not HDF5"
    (python.cwd / "perf_dump.h5").unlink()
    make = "import h5py; h5py.File('perf_dump.h5', 'w')['a/PAPI_TOT_INS'] = [1, 2]"
    subprocess.run([SYSTEM_PYTHON, "-c", make], cwd=python.cwd, check=True)
    done = script(python, papi, ONCE, PDUMP_EVENTS="PAPI_TOT_INS", PDUMP_OUTPUT_FORMAT="hdf5")
    assert "a/PAPI_TOT_INS: not of this shape, (1, 1, N + 1) (set PDUMP_FILENAME" in done.err and done.err.count("\n") == 1
    assert len(counts(python.cwd / "perf_dump.csv")) == 2


def test_no_room_for_the_file(python: Sandbox, papi: str) -> None:
    (python.cwd / "file").write_text("")
    for form in ("csv", "hdf5"):
        done = script(python, papi, ONCE, PDUMP_OUTPUT_FORMAT=form, PDUMP_DUMP_DIR="file")
        assert done.code == 0 and "region a is lost (set PDUMP_DUMP_DIR to another directory)" in done.err, done
        assert "Traceback" not in done.err
    done = script(python, papi, ONCE, PDUMP_OUTPUT_FORMAT="xml", PDUMP_DUMP_DIR="dumps")
    assert done.err.splitlines()[0] == "PyPerfDump WARNING: PDUMP_OUTPUT_FORMAT=xml: not a format (csv and hdf5 are); it will be hdf5"


@needs_hdf5
@pytest.mark.parametrize("form", ["csv", "hdf5"])
def test_a_disk_that_is_full(python: Sandbox, papi: str, form: str) -> None:
    """What was there stays, what comes later is saved, and the program ends as it should."""
    once = "start_region={0} start_profile work=1 end_profile end_region"
    words = f"{once.format('a')} limit=100 {once.format('b')} limit {once.format('c')}"
    env = environment(papi, PDUMP_OUTPUT_FORMAT=form, PDUMP_EVENTS="PAPI_TOT_INS,PAPI_L3_TCM,PAPI_TOT_CYC", **with_shim(python))
    done = python.plain("-c", f"import sys; sys.argv[1:] = {f'init {words} finalize'.split()!r}; exec(open({SCRIPT!r}).read())", env=env)
    assert (done.code, done.out) == (0, ""), done
    rows = {row[0] for row in counts(python.cwd / "perf_dump.csv")}
    if form == "csv":
        assert rows == {"a", "c"} and len(read_csv(python.cwd / "perf_dump.csv")) == 8
    else:
        saved = {name.split("/")[0] for name in read_hdf5(python.cwd / "perf_dump.h5")}
        assert saved == {"a", "c"} and rows in ({"b"}, set())


def test_names_with_commas(python: Sandbox, papi: str) -> None:
    done = script(python, papi, 'init start_region=a,"b" start_profile work=1 end_profile end_region', PDUMP_EVENTS="PAPI_TOT_INS")
    assert (done.code, done.err) == (0, "")
    assert counts(python.cwd / "perf_dump.csv") == [['a,"b"', "PAPI_TOT_INS", "10"]]


@needs_hdf5
def test_with_h5py_in_the_program(debian: Sandbox, papi: str) -> None:
    """Its library is used, with MPI and without, and goes on as it was."""
    program = f"""
import ctypes, h5py, os, sys
sys.argv[1:] = []
exec(open({SCRIPT!r}).read())
with h5py.File("other.h5", "w") as file:
    file["x"] = 3
    run("init start_region=a start_profile work=1 end_profile end_region finalize prints_loaded".split())
    file["y"] = 4
print(h5py.File("perf_dump.h5")["a/PAPI_TOT_INS"][()].tolist(), h5py.File("other.h5")["y"][()])
try:
    h5py.File("none.h5")
except OSError as error:
    print(str(error)[:26])
"""
    done = debian.recorded("-c", program, options=AS, env=environment(papi, PDUMP_OUTPUT_FORMAT="hdf5"))
    assert (done.code, done.err) == (0, ""), done
    loaded, *others = done.out.splitlines()
    assert len(loaded.split()) == 1 and others == ["[[[10, 0]]] 4", "[Errno 2] Unable to open f"]


@needs_hdf5
@pytest.mark.parametrize("first", ["", "h5py"])
def test_ranks_that_write_together(debian: Sandbox, papi: str, first: str) -> None:
    """With Debian's HDF5 for Open MPI the file is the same as the one that rank 0 writes alone with another HDF5."""
    words = (
        f"{first} init start_region=a start_profile work=1 end_profile end_region start_region=b/c start_profile work=2 end_profile "
        "end_region start_region=a start_profile work=3 end_profile end_region finalize prints_loaded"
    )
    together = script(debian, papi, words, 4, PDUMP_OUTPUT_FORMAT="hdf5", PDUMP_FILENAME="together")
    assert (together.code, together.err) == (0, ""), together
    assert set(together.out.split()) == {name for name in together.out.split() if name.startswith("libhdf5_openmpi.so")}
    expected = {
        "a/PAPI_TOT_INS": [[[10 * (1 + rank), 10 * (3 + rank), 0]] for rank in range(4)],
        "b/c/PAPI_TOT_INS": [[[10 * (2 + rank), 0]] for rank in range(4)],
    }
    found = read_hdf5(debian.cwd / "together.4.h5")
    assert {name: found[name][4] for name in expected} == expected
    serial = sorted(Path("/usr/lib").glob("*/libhdf5_serial.so.*"))
    if first or not serial:
        return
    alone = script(debian, papi, words, 4, PDUMP_OUTPUT_FORMAT="hdf5", PDUMP_FILENAME="alone", ALLRANKS_HDF5=str(serial[0]))
    assert (alone.code, alone.err) == (0, ""), alone
    same = read_hdf5(debian.cwd / "alone.4.h5")
    assert {name: each for name, each in same.items() if "Runtime" not in name} == {
        name: each for name, each in found.items() if "Runtime" not in name
    }


# ---- ranks ----


def test_a_process_without_a_launcher_is_without_mpi(one_mpi: Sandbox, papi: str) -> None:
    env = environment(papi, PDUMP_OUTPUT_FORMAT="csv", PDUMP_EVENTS="PAPI_TOT_INS")
    done = one_mpi.recorded(SCRIPT, "mpi", *ONCE.split(), options=AS, env=env)
    assert (done.code, done.err) == (0, ""), done
    assert counts(one_mpi.cwd / "perf_dump.csv") == [["a", "PAPI_TOT_INS", "10"]]


def test_ranks_that_do_not_use_mpi(one_mpi: Sandbox, papi: str) -> None:
    env = environment(papi, PDUMP_OUTPUT_FORMAT="csv", PDUMP_EVENTS="PAPI_TOT_INS")
    done = one_mpi.run(one_mpi.ranks(2, *one_mpi.recorder(*AS), SCRIPT, *ONCE.split()), env=env)
    assert done.code == 0 and done.err.count("PyPerfDump WARNING: 2 ranks were started, and this one does not use MPI: ") == 1
    assert counts(one_mpi.cwd / "perf_dump.csv") == [["a", "PAPI_TOT_INS", "10"]] * 2


@needs_hdf5
def test_ranks_in_different_regions(mpi: Sandbox, papi: str) -> None:
    words = "init start_region_of_rank=r start_profile work=1 end_profile end_region finalize"
    for form in ("csv", "hdf5"):
        done = script(mpi, papi, words, 2, PDUMP_EVENTS="PAPI_TOT_INS", PDUMP_OUTPUT_FORMAT=form)
        assert (done.code, done.err) == (0, ""), done
    assert counts(mpi.cwd / "perf_dump.csv") == [["0", "r0", "PAPI_TOT_INS", "10"], ["1", "r1", "PAPI_TOT_INS", "20"]]
    found = read_hdf5(mpi.cwd / "perf_dump.2.h5")
    assert [found[f"r{rank}/PAPI_TOT_INS"][4] for rank in range(2)] == [[[[10, 0]], [[0, 0]]], [[[0, 0]], [[20, 0]]]]


def test_what_one_rank_cannot_count_none_does(one_mpi: Sandbox, papi: str) -> None:
    words = f"set_on_1=PDUMP_EVENTS:PAPI_XYZ,stand_in:::ENERGY,PAPI_L3_TCM {ONCE} finalize"
    done = script(one_mpi, papi, words, 2)
    assert done.code == 0 and done.err == (
        'PAPI WARNING: "PAPI_TOT_INS" is left out, not all ranks were asked for it (on rank 0; it is counted on none)\n'
        'PAPI WARNING: Unable to get code from "PAPI_XYZ", PAPI 7.0 has no such event here (try: papi_avail) (on rank 1; it is counted on none)\n'
    )
    assert [row[2:] for row in counts(one_mpi.cwd / "perf_dump.csv")] == [
        ["PAPI_L3_TCM", "1"], ["stand_in:::ENERGY", "100"], ["PAPI_L3_TCM", "2"], ["stand_in:::ENERGY", "200"],
    ]  # fmt: skip
    (one_mpi.cwd / "perf_dump.csv").unlink()
    done = script(one_mpi, papi, f"set_on_1=PDUMP_EVENTS: {ONCE} finalize", 2, PDUMP_EVENTS="PAPI_TOT_INS")
    assert (done.code, done.err) == (0, ""), done
    assert [row[2:] for row in counts(one_mpi.cwd / "perf_dump.csv")] == [["PAPI_TOT_INS", "10"], ["PAPI_TOT_INS", "20"]]
    done = script(one_mpi, papi, "set_on_1=PDUMP_EVENTS:PAPI_XYZ tries_init", 2)
    assert done.code == 0, done
    reason = 'No valid event in PDUMP_EVENTS (Unable to get code from "PAPI_XYZ", PAPI 7.0 has no such event here (try: papi_avail))'
    for text in (f"No event that all ranks can count (rank 1: {reason})\n", f"{reason}\n"):
        assert done.out.count(f"PyPerfDump ERROR: {text}") == 1, done  # launchers mix lines


def test_after_mpi_has_ended(mpi: Sandbox, papi: str) -> None:
    words = "init start_region=a start_profile work=1 end_profile end end_region finalize"
    done = script(mpi, papi, words, 2, PDUMP_EVENTS="PAPI_TOT_INS")
    assert done.code == 0 and done.err.count("PyPerfDump WARNING: MPI is finalized: rank ") == 2, done
    assert sorted(counts(mpi.cwd / "perf_dump.csv")) == [["0", "a", "PAPI_TOT_INS", "10"], ["1", "a", "PAPI_TOT_INS", "20"]]


LATE = f"""
import time
from mpi4py import MPI
import sys
given = sys.argv[1:]
sys.argv[1:] = []
exec(open({SCRIPT!r}).read())
rank = MPI.COMM_WORLD.rank

def late():
    if rank == 1:
        begin = time.perf_counter()
        while time.perf_counter() < begin + 0.5:
            pass

run(given[:3])
late()
run(given[3:])
MPI.COMM_WORLD.barrier()
"""


@needs_hdf5
@pytest.mark.every_stack
@pytest.mark.parametrize("form", ["csv", "hdf5"])
def test_ranks_that_wait_for_each_other_to_save(mpi: Sandbox, papi: str, form: str) -> None:
    """Of what is sent for the file, the recording has what ranks wait in. So waits are charged to what made a rank late."""
    (mpi.cwd / "program.py").write_text(LATE)
    words = ("init", "start_region=a", "start_profile", "work=1", "end_profile", "end_region", "finalize")
    env = environment(papi, PDUMP_OUTPUT_FORMAT=form)
    done = mpi.recorded_ranks(2, "program.py", *words, options=AS, env=env)
    assert (done.code, done.err) == (0, ""), done
    answer = json.loads(mpi.answer("report", "--json", "run.allranks"))
    calls = {row["name"]: row["calls"] for row in answer["functions"] if row["kind"] == "mpi"}
    of_save = {name for name in calls if "ather" in name}
    rest = set(calls) - of_save - {"MPI_Init", "MPI_Init_thread", "MPI_Comm_set_errhandler", "MPI_Finalize"}
    assert rest == {"MPI_Comm_split", "MPI_Comm_free", "MPI_Barrier"}, calls
    assert of_save and {calls[name] for name in of_save} == {2}, calls
    told = [each["text"] for each in answer["findings"] if "gather for " in each["text"]]
    assert told and all("rank 1, which spent it in program.py:10 late" in text for text in told), answer["findings"]


# ---- processes and threads ----


def test_children(python: Sandbox, papi: str) -> None:
    """What is open is the parent's; a child has regions of its own."""
    words = (
        "init start_region=a start_profile work=1 in_child=end_profile:start_region=c:start_profile:work=7:end_profile:end_region "
        "work=2 end_profile end_region in_child=start_region=d:start_profile:work=9:end_profile:end_region finalize"
    )
    for form in ("csv", "hdf5") if has_h5py() else ("csv",):
        done = script(python, papi, words, PDUMP_EVENTS="stand_in:::ENERGY", PDUMP_OUTPUT_FORMAT=form)
        assert done.code == 0, done
        assert done.err == "PyPerfDump WARNING: No profile to end\nPyPerfDump STATE: Initialized, not within a region\n"
    assert counts(python.cwd / "perf_dump.csv") == [[name, "stand_in:::ENERGY", str(n)] for name, n in (("c", 700), ("a", 300), ("d", 900))]
    if has_h5py():
        found = read_hdf5(python.cwd / "perf_dump.h5")
        assert {name: found[f"{name}/stand_in:::ENERGY"][4] for name in "acd"} == {"a": [[[300, 0]]], "c": [[[700, 0]]], "d": [[[900, 0]]]}
    assert metrics(python) == {(name, "stand_in:::ENERGY", 0): n for name, n in (("a", 300), ("c", 700), ("d", 900))}


def test_children_of_ranks(one_mpi: Sandbox, papi: str) -> None:
    words = "init start_region=a start_profile in_child=end_profile:tries_init work=1 end_profile end_region finalize"
    done = script(one_mpi, papi, words, 2, PDUMP_EVENTS="PAPI_TOT_INS")
    assert done.code == 0 and done.err.count("No profile to end\nPyPerfDump STATE: Not initialized\n") == 2, done
    assert len(counts(one_mpi.cwd / "perf_dump.csv")) == 2


def test_threads(python: Sandbox, papi: str) -> None:
    words = (
        "init start_region=a in_thread=start_profile:work=3:end_profile start_profile work=1 end_profile end_region "
        "in_thread=start_region=b:start_profile:work=5:end_profile:end_region "
        "start_region=c start_profile work=9 in_thread=end_profile start_profile work=2 end_profile end_region "
        "start_region=d start_profile in_thread=end_profile:start_profile:work=5:end_profile start_profile work=7 end_profile end_region "
        "in_thread=start_region=e:start_profile:work=6 end_profile end_region"
    )
    done = script(python, papi, words, PDUMP_EVENTS="PAPI_TOT_INS,perf::PAGE-FAULTS")
    why = "it was started in another thread (start and end it in the same one)"
    assert done.code == 0, done
    assert [line for line in done.err.splitlines() if "PAPI WARNING" not in line] == [
        f"PyPerfDump WARNING: a profile of {name} is not counted: {why}" for name in "cde"
    ]
    rows = [row for row in counts(python.cwd / "perf_dump.csv") if row[1] == "PAPI_TOT_INS"]
    assert rows == [[name, "PAPI_TOT_INS", str(n)] for name, n in (("a", 40), ("b", 50), ("c", 20), ("d", 120), ("e", 0))]
    found = {name: n for (name, event, _), n in metrics(python).items() if event == "PAPI_TOT_INS"}
    assert found == {"a": 40, "b": 50, "c": 20, "d": 120}


@needs_hdf5
def test_of_a_killed_process(python: Sandbox, papi: str) -> None:
    words = f"{ONCE} start_region=b start_profile work=2 end_profile kill"
    for form in ("csv", "hdf5"):
        env = environment(papi, PDUMP_OUTPUT_FORMAT=form)
        done = python.recorded(SCRIPT, *words.split(), options=("-q", "--as", "pyperfdump", "-o", "run.allranks"), env=env)
        assert done.code == -9, done
    assert counts(python.cwd / "perf_dump.csv") == [["a", event, str(unit)] for event, unit in EVENTS.items()]
    assert read_hdf5(python.cwd / "perf_dump.h5")["a/PAPI_TOT_INS"][4] == [[[10, 0]]]
    job = next(python.live.iterdir())
    assert python.allranks("recover", job, "-o", "run.allranks").code == 0
    expected = {(region, event, 0): n * unit for region, n in (("a", 1), ("b", 2)) for event, unit in EVENTS.items()}
    assert metrics(python) == expected


def test_descriptors(python: Sandbox, papi: str) -> None:
    """None is left open after a region, and a program that closes all of them goes on."""
    events = "PAPI_TOT_INS,perf::PAGE-FAULTS"
    words = "descriptors init start_region=a start_profile work=1 end_profile end_region descriptors"
    done = script(python, papi, words, PDUMP_EVENTS=events)
    before, after = done.out.splitlines()
    assert before == after
    words = "init start_region=b start_profile close_all end_profile start_profile touch=100 end_profile end_region"
    done = script(python, papi, words, PDUMP_EVENTS=events)
    if "PAPI WARNING" in done.err:
        pytest.skip(done.err)
    assert done.code == 0 and done.err == (
        "PyPerfDump WARNING: a profile of b is not counted: its counters are gone (does the program close descriptors that it has not opened?)\n"
    )
    rows = {row[1]: int(row[2]) for row in counts(python.cwd / "perf_dump.csv") if row[0] == "b"}
    assert rows["PAPI_TOT_INS"] == 0 and 100 <= rows["perf::PAGE-FAULTS"] <= 112


# ---- beside the rest of allranks ----


def test_with_counters_of_the_recording(python: Sandbox, papi: str) -> None:
    """What --counters names is counted once, over the whole region; the file has the profiles."""
    words = "init start_region=a start_profile work=1 end_profile work=5 end_region"
    for counters, events, said in (
        ("PAPI_TOT_INS,stand_in:::ENERGY", "PAPI_TOT_INS,stand_in:::ENERGY", ""),
        ("stand_in:::ENERGY", "PAPI_TOT_INS,stand_in:::ENERGY", "PAPI_TOT_INS"),
        ("PAPI_TOT_INS", "PAPI_TOT_INS,PAPI_L3_TCM", "PAPI_L3_TCM"),
    ):
        for name in ("run.allranks", "perf_dump.csv"):
            (python.cwd / name).unlink(missing_ok=True)
        env = environment(papi, PDUMP_OUTPUT_FORMAT="csv", PDUMP_EVENTS=events)
        done = python.recorded(SCRIPT, *words.split(), options=(*AS, "--counters", counters), env=env)
        named = counters.split(",")
        if counters == "PAPI_TOT_INS":
            assert f'PAPI WARNING: Unable to add "{said}", the recording counts with PAPI, ' in done.err, done
        else:
            assert (done.code, done.err) == (0, ""), done
        counted = [event for event in events.split(",") if event in named or said == "PAPI_TOT_INS"]
        assert counts(python.cwd / "perf_dump.csv") == [["a", event, str(EVENTS[event])] for event in counted]
        found = {key: value for key, value in metrics(python).items() if key[0] != "(pyperfdump)"}
        assert found == {("a", event, 0): EVENTS[event] * (6 if event in named else 1) for event in counted}


def test_what_is_loaded(python: Sandbox, papi: str) -> None:
    env = {**with_shim(python), **environment(papi, PDUMP_OUTPUT_FORMAT="csv")}
    program = "import sys; before = set(sys.modules); import pyperfdump; print(*sorted(set(sys.modules) - before))"
    done = python.plain("-c", program, env=env)
    loaded = [name for name in done.out.split() if not name.startswith(("allranks", "__future__"))]
    assert (done.code, loaded) == (0, ["pyperfdump"]), done
    program = "import pyperfdump; pyperfdump.init(); import sys; print('ctypes' in sys.modules)"
    assert python.plain("-c", program, env=env).out == "False\n"
    program = "import pyperfdump; pyperfdump.init(); print(any('libhdf5' in line for line in open('/proc/self/maps')))"
    assert python.plain("-c", program, env=env).out == "False\n"


def test_there_is_nothing_to_run(python: Sandbox) -> None:
    said = "allranks: error: pyperfdump: a module for programs to import, with nothing to run (try: allranks run --as pyperfdump SCRIPT)\n"
    for module in ("allranks.compat.pyperfdump", "pyperfdump"):
        done = python.plain("-m", module, env=with_shim(python) if module == "pyperfdump" else {})
        assert (done.code, done.out, done.err) == (2, "", said), done


def test_where_nothing_can_be_read(python: Sandbox, papi: str) -> None:
    """As in a Python that allranks was not built for."""
    env = {**with_shim(python), **environment(papi)}
    (library,) = Path(env["PYTHONPATH"], "allranks").glob("_runtime*.so")
    library.unlink()
    done = python.plain(SCRIPT, "tries_init", "start_region=a", env=env)
    assert done.code == 0, done
    first, state = done.out.splitlines()
    assert first.startswith("PyPerfDump ERROR: nothing can be counted: No module named 'allranks._runtime'"), done
    assert state == "PyPerfDump STATE: Not initialized"


def test_names_that_are_no_text(one_mpi: Sandbox, papi: str) -> None:
    """Half of a character: no rank ends because another one cannot write it."""
    (one_mpi.cwd / "program.py").write_text(
        "from mpi4py import MPI\nimport pyperfdump as p\np.init()\n"
        "p.start_region('half \\ud800')\np.start_profile()\np.end_profile()\np.end_region()\np.finalize()\nprint('goes on')\n"
    )
    for form in ("csv", "hdf5"):
        env = environment(papi, PDUMP_OUTPUT_FORMAT=form, PDUMP_FILENAME=f"sub/{form}", PDUMP_EVENTS="PAPI_TOT_INS")
        done = one_mpi.recorded_ranks(2, "program.py", options=AS, env=env)
        assert done.code == 0 and done.out == "goes on\n" * 2, done
    assert (one_mpi.cwd / "sub/csv.csv").read_text().startswith("0,half \\ud800,PAPI_TOT_INS,0\n")
