# SPDX-License-Identifier: BSD-3-Clause
"""Ordinary programs, one per run: programs.py NAME. Each takes about a second, imports included.

Unlike bench/real.py, which times loops that run warm, a whole process is measured here: imports, call paths that are
taken once, child processes and the end belong to what a user waits for.
"""

import sys


def run_pytest(directory):
    """A test suite with fixtures, parameters and a plugin or two; it is written here, so that it needs no network."""
    import os

    import pytest

    source = """
import pytest

@pytest.fixture
def numbers(tmp_path):
    (tmp_path / "numbers.txt").write_text("1 2 3")
    return [int(word) for word in (tmp_path / "numbers.txt").read_text().split()]

@pytest.fixture(scope="module")
def table():
    return {str(n): n for n in range(100)}

@pytest.mark.parametrize("n", range(60))
def test_parameter(n, table):
    assert table[str(n)] == n

@pytest.mark.parametrize("n", range(20))
def test_fixture(n, numbers, capsys):
    print(n)
    assert sum(numbers) == 6 and capsys.readouterr().out == f"{n}\\n"

class TestClass:
    def test_raises(self):
        with pytest.raises(ZeroDivisionError):
            1 / 0

    def test_approx(self, monkeypatch):
        monkeypatch.setenv("NAME", "value")
        assert 0.1 + 0.2 == pytest.approx(0.3)
"""
    for number in range(5):
        with open(os.path.join(directory, f"test_{number}.py"), "w") as file:
            file.write(source)
    assert pytest.main(["-q", "-p", "no:cacheprovider", directory]) == 0


def collatz(start):
    n_steps = 0
    while start != 1:
        start = start // 2 if start % 2 == 0 else 3 * start + 1
        n_steps += 1
    return n_steps


def longest(numbers):
    return max(map(collatz, numbers))


def run_pool(directory):
    import multiprocessing

    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        for _ in range(4):
            print(max(pool.map(longest, [range(n, n + 100) for n in range(1, 8000, 100)])))


def run_asyncio(directory):
    import asyncio

    async def serve(reader, writer):
        while line := await reader.readline():
            writer.write(line.upper())
            await writer.drain()
        writer.close()

    async def ask(port, n_lines):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in range(n_lines):
            writer.write(f"line {number}\n".encode())
            assert (await reader.readline()).startswith(b"LINE")
        writer.close()

    async def main():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        await asyncio.gather(*(ask(port, 200) for _ in range(20)))
        server.close()

    asyncio.run(main())


def run_pandas(directory):
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(1)
    n_rows = 60_000
    frame = pd.DataFrame(
        {
            "key": random.integers(0, 500, n_rows),
            "day": pd.date_range("2024-01-01", periods=n_rows, freq="min"),
            "value": random.normal(size=n_rows),
        }
    )
    path = f"{directory}/frame.csv"
    frame.to_csv(path, index=False)
    frame = pd.read_csv(path, parse_dates=["day"])
    by_key = frame.groupby("key")["value"].agg(["mean", "std", "count"])
    joined = frame.merge(by_key, left_on="key", right_index=True)
    joined["score"] = joined.apply(lambda row: row["value"] - row["mean"], axis=1)
    daily = joined.set_index("day")["score"].resample("D").sum().rolling(3).mean()
    print(daily.describe())


def run_sklearn(directory):
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = make_classification(2000, 20, random_state=1)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    print(cross_val_score(model, x, y, cv=5).mean())
    print(cross_val_score(RandomForestClassifier(20, random_state=1), x, y, cv=3).mean())


def run_networkx(directory):
    import networkx as nx

    graph = nx.barabasi_albert_graph(500, 4, seed=1)
    print(max(nx.betweenness_centrality(graph, k=60, seed=1).values()))
    print(max(nx.pagerank(graph).values()))
    print(nx.average_clustering(graph), len(nx.maximal_independent_set(graph, seed=1)))
    print(sum(len(part) for part in nx.community.greedy_modularity_communities(graph)))


def run_sympy(directory):
    import sympy

    x, y = sympy.symbols("x y")
    print(sympy.integrate(sympy.exp(x) * sympy.sin(x) * x, x))
    print(sympy.expand((x + y + 1) ** 12).subs(y, 2).diff(x, 2))
    print(sympy.solve([x**2 + y - 3, x + y**2 - 5], [x, y])[0])
    print(sympy.simplify(sympy.sin(x) ** 4 + sympy.cos(x) ** 4))


def run_text(directory):
    import collections
    import csv
    import gzip
    import json
    import re

    entries = [
        {"id": n, "name": f"user{n % 97}", "tags": ["a", "b", str(n % 7)], "at": f"2024-0{n % 9 + 1}-11"}
        for n in range(20_000)
    ]
    path = f"{directory}/entries.json.gz"
    with gzip.open(path, "wt") as file:
        for entry in entries:
            file.write(json.dumps(entry) + "\n")
    date = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
    counts = collections.Counter()
    with gzip.open(path, "rt") as file, open(f"{directory}/out.csv", "w", newline="") as out:
        writer = csv.DictWriter(out, ["id", "name", "month"])
        for line in file:
            entry = json.loads(line)
            month = date.sub(lambda match: match.group(2), entry["at"])
            counts.update(entry["tags"])
            writer.writerow({"id": entry["id"], "name": entry["name"].title(), "month": month})
    print(counts.most_common(3))


def run_scipy(directory):
    import numpy as np
    import scipy.integrate
    import scipy.optimize
    import scipy.signal
    import scipy.sparse
    import scipy.sparse.linalg
    import scipy.stats

    print(scipy.optimize.minimize(scipy.optimize.rosen, np.zeros(8), method="BFGS").fun)
    solution = scipy.integrate.solve_ivp(
        lambda t, y: [y[1], 20 * (1 - y[0] ** 2) * y[1] - y[0]], (0, 40), [2, 0], method="BDF"
    )
    n = 150
    line = scipy.sparse.diags([-1, 2, -1], [-1, 0, 1], shape=(n, n))
    plane = scipy.sparse.kronsum(line, line, format="csc")
    print(solution.y[0, -1], scipy.sparse.linalg.spsolve(plane, np.ones(n * n)).max())
    print(scipy.stats.ttest_ind(np.arange(100.0), np.arange(100.0) ** 1.1))
    print(scipy.signal.lfilter(*scipy.signal.butter(4, 0.2), np.ones(1000))[-1])


def run_docutils(directory):
    import docutils.core

    section = """
Title {0}
==========

A paragraph with *emphasis*, ``code``, a link_{0} and a list:

- one
- two, |name{0}|

.. |name{0}| replace:: substituted
.. _link_{0}: https://example.org/{0}

======  =====
 Name   Value
======  =====
 a      1
 b      2
======  =====
"""
    source = "".join(section.format(number) for number in range(60))
    print(len(docutils.core.publish_string(source, writer_name="html")))


def run_petsc(directory):
    """Poisson's equation, by conjugate gradients and by multigrid."""
    from petsc4py import PETSc

    grid = PETSc.DMDA().create([160, 160], stencil_width=1)
    matrix, right, left = grid.createMat(), grid.createGlobalVec(), grid.createGlobalVec()
    row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
    (x0, x1), (y0, y1) = grid.getRanges()
    for y in range(y0, y1):
        for x in range(x0, x1):
            row.index = (x, y)
            for dx, dy, value in ((0, 0, 4.0), (1, 0, -1.0), (-1, 0, -1.0), (0, 1, -1.0), (0, -1, -1.0)):
                if 0 <= x + dx < 160 and 0 <= y + dy < 160:
                    column.index = (x + dx, y + dy)
                    matrix.setValueStencil(row, column, value)
    matrix.assemble()
    right.set(1.0)
    for kind in ("jacobi", "gamg"):
        solver = PETSc.KSP().create()
        solver.setOperators(matrix)
        solver.setType("cg")
        solver.getPC().setType(kind)
        for _ in range(5):
            left.set(0.0)
            solver.solve(right, left)
        print(kind, solver.getIterationNumber(), left.norm())


def run_fft(directory):
    """Burgers' equation in three dimensions, in Fourier space."""
    import numpy as np
    from mpi4py import MPI
    from mpi4py_fft import PFFT, newDistArray

    fft = PFFT(MPI.COMM_WORLD, (48, 48, 48), dtype="d")
    velocity = newDistArray(fft, False)
    velocity[:] = np.random.default_rng(1).normal(size=velocity.shape)
    waves = newDistArray(fft, True)
    wave_numbers = np.fft.rfftfreq(48, 1 / 48)[: waves.shape[2]]
    for _ in range(60):
        waves = fft.forward(velocity * velocity, waves)
        waves *= np.exp(-1e-3 * wave_numbers**2)
        velocity = velocity - 1e-3 * fft.backward(1j * wave_numbers * waves)
        energy = MPI.COMM_WORLD.allreduce(float(np.sum(velocity**2)))
    print(energy)


def run_gpaw(directory):
    """A water molecule, by atomic orbitals."""
    from ase.build import molecule
    from gpaw import GPAW

    water = molecule("H2O", vacuum=3.0)
    water.calc = GPAW(mode="lcao", basis="dzp", h=0.25, txt=None, convergence={"energy": 1e-3})
    print(water.get_potential_energy())


def run_dolfinx(directory):
    """Poisson's equation by finite elements."""
    import numpy as np
    import ufl
    from dolfinx import fem, mesh
    from dolfinx.fem.petsc import LinearProblem
    from mpi4py import MPI
    from petsc4py.PETSc import ScalarType

    domain = mesh.create_unit_square(MPI.COMM_WORLD, 96, 96)
    space = fem.FunctionSpace(domain, ("Lagrange", 2))
    edge = fem.locate_dofs_geometrical(space, lambda x: np.isclose(x[0], 0) | np.isclose(x[0], 1))
    boundary = fem.dirichletbc(value=ScalarType(0), dofs=edge, V=space)
    u, v = ufl.TrialFunction(space), ufl.TestFunction(space)
    x = ufl.SpatialCoordinate(domain)
    source = 10 * ufl.exp(-((x[0] - 0.5) ** 2 + (x[1] - 0.5) ** 2) / 0.02)
    for _ in range(3):
        problem = LinearProblem(
            ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx, ufl.inner(source, v) * ufl.dx, bcs=[boundary],
            petsc_options={"ksp_type": "cg", "pc_type": "gamg"},
        )
        print(problem.solve().x.array.max())


PROGRAMS = {
    "pytest": run_pytest,
    "pool": run_pool,
    "asyncio": run_asyncio,
    "pandas": run_pandas,
    "sklearn": run_sklearn,
    "networkx": run_networkx,
    "sympy": run_sympy,
    "text": run_text,
    "scipy": run_scipy,
    "docutils": run_docutils,
    "petsc": run_petsc,
    "fft": run_fft,
    "gpaw": run_gpaw,
    "dolfinx": run_dolfinx,
}


def main():
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        PROGRAMS[sys.argv[1]](directory)


if __name__ == "__main__":
    main()
