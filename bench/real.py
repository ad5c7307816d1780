# SPDX-License-Identifier: BSD-3-Clause
"""Runs one program of pyperformance a number of times: real.py SITE PROGRAM LOOPS [FLOOR].

FLOOR is where bench/floors.py has put hooks that do nothing, to be set first. SITE is where pip has put pyperformance and what its programs need. Prints the seconds of each loop, by the wall clock and by
the processor's: {"wall": [...], "cpu": [...]}. Imports and preparation are not counted.
"""

import asyncio
import importlib.util
import json
import os
import sys
import time


def load(site, name):
    path = os.path.join(
        site, "pyperformance/data-files/benchmarks", "bm_" + name, "run_benchmark.py"
    )
    spec = importlib.util.spec_from_file_location("bm_" + name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def async_tree(variant):
    def prepare(site):
        tree = load(site, "async_tree").BENCHMARKS[variant]
        return lambda: asyncio.run(tree().run())

    return prepare


def docutils(site):
    module = load(site, "docutils")
    return lambda: module.build_html(module.DOC_ROOT)


def fannkuch(site):
    module = load(site, "fannkuch")
    return lambda: module.fannkuch(module.DEFAULT_ARG)


def mdp(site):
    module = load(site, "mdp")
    return lambda: module.bench_mdp(1)


def pprint(site):
    module = load(site, "pprint")
    return lambda: module.p.pformat(module.printable)


def raytrace(site):
    module = load(site, "raytrace")
    return lambda: module.bench_raytrace(1, module.DEFAULT_WIDTH, module.DEFAULT_HEIGHT, None)


def sympy(site):
    module = load(site, "sympy")
    functions = [getattr(module, "bench_" + name) for name in module.BENCHMARKS]

    def all_four():
        for function in functions:
            module.bench_sympy(1, function)

    return all_four


PROGRAMS = {
    "async_none": async_tree("none"),
    "async_io": async_tree("io"),
    "async_cpu_io": async_tree("cpu_io_mixed"),
    "async_memo": async_tree("memoization"),
    "docutils": docutils,
    "fannkuch": fannkuch,
    "mdp": mdp,
    "pprint": pprint,
    "raytrace": raytrace,
    "sympy": sympy,
}


def main():
    site, program, n_loops = sys.argv[1], sys.argv[2], int(sys.argv[3])
    sys.path.insert(0, site)
    workload = PROGRAMS[program](site)
    if len(sys.argv) > 4:
        sys.path.insert(0, sys.argv[4])
        import floor

        floor.python_functions()
    seconds = {"wall": [], "cpu": []}
    for _ in range(n_loops):
        wall, cpu = time.perf_counter(), time.process_time()
        workload()
        seconds["wall"].append(time.perf_counter() - wall)
        seconds["cpu"].append(time.process_time() - cpu)
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
