# SPDX-License-Identifier: BSD-3-Clause
"""allranks.Profile: it answers as cProfile does, and survives what cProfile does not."""

import json
import re
from pathlib import Path

import pytest
from harness import Sandbox, workload

CASES = re.findall(r"^@case\ndef (\w+)", Path(workload("profile_class.py")).read_text(), re.MULTILINE)

# Loads nothing itself: prints what a start has loaded.
LOADED = "import sys; print(sorted(name for name in sys.modules if {condition}))"


def needs_cpython_tests(python: Sandbox) -> None:
    done = python.plain("-c", "import test.test_profile, test.test_pstats, test.support")
    if done.code != 0:
        pytest.skip(f"{python.stack.python} comes without the `test` package")


def test_passes_the_tests_of_cprofile_and_pstats(python: Sandbox):
    needs_cpython_tests(python)
    done = python.plain(workload("cpython_profile_tests.py"))
    assert done.code == 0, done
    result = json.loads(done.out)
    assert not result["failed"], "\n".join(result["failed"].values())
    assert result["n_run"] == len(result["ran"]) >= 15
    assert any(test.endswith(".CProfileTest.test_cprofile") for test in result["ran"])


@pytest.mark.parametrize("first_seed", [0, 1000, 2000])
def test_counts_and_times_of_random_programs_are_those_of_cprofile(python: Sandbox, first_seed: int):
    done = python.plain(workload("random_calls.py"), str(first_seed), "60")
    assert done.code == 0, done
    result = json.loads(done.out)
    assert not result["differences"], "\n".join(result["differences"])
    assert result["programs"] == 60 and result["calls"] > 30_000, result
    assert result["functions"] > 1000 and result["pairs"] > 1000 and result["recursive"] > 1000, result


@pytest.mark.parametrize("case", CASES)
def test_case(python: Sandbox, case: str):
    done = python.plain(workload("profile_class.py"), case)
    assert (done.code, done.out, done.err) == (0, "ok\n", ""), done


def test_cases_in_a_recorded_program(python: Sandbox):
    done = python.recorded(workload("profile_class.py"), *CASES, options=("-q",))
    assert (done.code, done.out, done.err) == (0, "ok\n" * len(CASES), ""), done
    assert python.info("profile_class.allranks").processes


def test_random_programs_in_a_recorded_program(python: Sandbox):
    done = python.recorded(workload("random_calls.py"), "3000", "30", options=("-q",))
    assert done.code == 0, done
    result = json.loads(done.out)
    assert result["programs"] == 30 and not result["differences"], "\n".join(result["differences"])


def test_a_start_loads_no_profile(python: Sandbox):
    """It is loaded by whoever asks for it, and by nobody else."""
    condition = "name.startswith('allranks') or name in ('pstats', 'profile', 'cProfile')"
    program = LOADED.format(condition=condition)
    done = python.plain("-c", f"import allranks; {program}")
    assert done.out == "['allranks']\n", done
    done = python.plain("-c", f"import allranks; allranks.Profile; {program}")
    assert done.out == "['allranks', 'allranks._profile', 'allranks._runtime']\n", done
    done = python.recorded("-c", program, options=("-q",))
    assert "allranks._profile" not in done.out and "pstats" not in done.out, done
