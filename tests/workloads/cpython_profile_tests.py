# SPDX-License-Identifier: BSD-3-Clause
"""Runs CPython's own tests of cProfile and pstats, as this interpreter brings them along, against allranks.Profile.

The modules cProfile (from 3.15 on profiling.tracing, too) and _lsprof are replaced before the tests are imported. Prints as JSON which tests ran, which
failed and how, and which were left out. What is left out, or looked at through other eyes, and why:
"""

import importlib
import importlib.util
import json
import sys
import types
import unittest

import allranks
from allranks import _runtime

EXCLUDED = {
    "test_run_profile_as_module": "starts `python -m cProfile` in a new process, which is not ours to answer",
    "test_output_file_when_changing_directory": "starts `python -m cProfile` in a new process",
    "TestCommandLine.test_sort": "starts `python -m cProfile` in a new process",
    "test_crash_with_not_enough_args": "calls the methods that cProfile has for sys.monitoring; our callbacks are methods of nothing",
    "test.test_profile.ProfileTest": "its tables are those of the module `profile`; test_cprofile runs each of its"
    " tests again, with cProfile's",
}


def replace_modules():
    c_profile = types.ModuleType("cProfile")
    c_profile.Profile = allranks.Profile
    c_profile.run = allranks.run
    c_profile.runctx = allranks.runctx
    lsprof = types.ModuleType("_lsprof")
    lsprof.Profiler = _runtime.Profiler
    sys.modules.update(cProfile=c_profile, _lsprof=lsprof)
    if sys.version_info >= (3, 15):
        real = importlib.util.find_spec("profiling.tracing")
        c_profile.__path__ = real.submodule_search_locations  # the module `profile` takes from there what is not replaced
        sys.modules["profiling.tracing"] = c_profile


def tests_of_cprofile():
    moved = sys.version_info >= (3, 15)
    return importlib.import_module("test.test_profiling.test_tracing_profiler" if moved else "test.test_cprofile")


class Renaming:
    """sys, or sys.monitoring, for tests that expect the tool to be called "cProfile": ours must be where that was."""

    def __init__(self, original):
        self.original = original

    def __getattr__(self, name):
        value = getattr(self.original, name)
        return Renaming(value) if name == "monitoring" else value

    def get_tool(self, tool_id):
        name = self.original.get_tool(tool_id)
        return {"allranks": "cProfile", "cProfile": "not ours"}.get(name, name)


def flatten(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from flatten(each)
        else:
            yield each


def is_excluded(name):
    return any(name.endswith(excluded) or name.startswith(excluded) for excluded in EXCLUDED)


def main():
    replace_modules()
    test_cprofile = tests_of_cprofile()
    from test import test_pstats

    assert test_cprofile.CProfileTest.profilerclass is allranks.Profile
    assert test_pstats.cProfile.Profile is allranks.Profile
    test_cprofile.sys = Renaming(sys)
    loader = unittest.defaultTestLoader
    tests = [*flatten(map(loader.loadTestsFromModule, (test_cprofile, test_pstats)))]
    chosen = [test for test in tests if not is_excluded(test.id())]
    result = unittest.TestResult()
    unittest.TestSuite(chosen).run(result)
    json.dump(
        {
            "ran": [test.id() for test in chosen],
            "excluded": [test.id() for test in tests if is_excluded(test.id())],
            "failed": {test.id(): text for test, text in result.failures + result.errors},
            "skipped": {test.id(): why for test, why in result.skipped},
            "n_run": result.testsRun,
        },
        sys.stdout,
    )


main()
