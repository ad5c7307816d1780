# SPDX-License-Identifier: BSD-3-Clause
"""MPI that is not mpi4py's: libraries in C, ctypes and cffi, objects loaded late, a second MPI: same output, calls seen."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import Sandbox, workload

LOADED = "from mpi4py import MPI; print({line.split()[-1] for line in open('/proc/self/maps') if '/libmpi' in line}.pop())"
WORLD = {"openmpi": "ompi_mpi_comm_world", "mpich": "0x44000000", "mpiabi": "0x101"}
CALLER = {
    "openmpi": "extern char ompi_mpi_comm_world[]; int MPI_Barrier(void *);"
    "int meet_in_c(void) { return MPI_Barrier(ompi_mpi_comm_world); }",
    "mpich": "int MPI_Barrier(int); int meet_in_c(void) { return MPI_Barrier(0x44000000); }",
    "mpiabi": "int MPI_Barrier(void *); int meet_in_c(void) { return MPI_Barrier((void *)0x101); }",
}


def library_of(mpi: Sandbox) -> str:
    """The MPI that mpi4py is linked with, or has found."""
    done = mpi.plain("-c", LOADED)
    assert done.code == 0, done
    return done.out.strip()


def caller_in_c(mpi: Sandbox, library: str) -> str:
    """A library that calls MPI itself."""
    source, target = mpi.cwd.parent / "caller.c", mpi.cwd.parent / "caller.so"
    source.write_text(CALLER[mpi.stack.mpi])
    words = ["cc", "-shared", "-fPIC", "-Wl,--allow-shlib-undefined", "-o", target, source, library]
    subprocess.run(words, check=True)
    return str(target)


def n_barriers(mpi: Sandbox, run: str, caller: str) -> int:
    return sum(node["calls"] for node in mpi.report(run).mpi("MPI_Barrier", caller))


def mpis_said(mpi: Sandbox, run: str) -> list[str]:
    lines = mpi.answer("info", run).decode().splitlines()
    return [line.partition(" ")[2].strip() for line in lines if line.startswith("mpi ")]


def check_ctypes(mpi: Sandbox) -> None:
    library = library_of(mpi)
    program = (workload("mpi_by_ctypes.py"), library, WORLD[mpi.stack.mpi], "ctypes", caller_in_c(mpi, library))
    plain = mpi.plain_ranks(2, *program)
    done = mpi.recorded_ranks(2, *program)
    assert (done.code, done.stdout) == (plain.code, plain.stdout) == (0, b"done\ndone\n"), done
    assert mpi.info("mpi_by_ctypes.allranks").ranks == [0, 1]
    assert n_barriers(mpi, "mpi_by_ctypes.allranks", "meet") == 2 * 5
    assert n_barriers(mpi, "mpi_by_ctypes.allranks", "meet_in_c") == 2 * 5
    asked = mpi.report("mpi_by_ctypes.allranks").mpi("MPI_Comm_size", "ask")
    assert sum(node["calls"] for node in asked) == 2 * 7


def test_mpi_through_ctypes_and_a_library_loaded_later(mpi: Sandbox):
    """Without mpi4py; and a library that is loaded when MPI is up calls it, too."""
    check_ctypes(mpi)


def test_the_standards_abi_through_ctypes(mpiabi: Sandbox):
    """And it is said which ABI it was."""
    check_ctypes(mpiabi)
    (which,) = mpis_said(mpiabi, "mpi_by_ctypes.allranks")
    assert re.fullmatch(r"MPICH 5\.[\d.]+ \(MPI-5 ABI\)", which)


TWO_ABIS = """\
import ctypes, sys
from mpi4py import MPI
own = ctypes.CDLL(sys.argv[1])
world = ctypes.c_int(0x44000000)
def meet():
    MPI.COMM_WORLD.Barrier()
def meet_in_own():
    assert own.MPI_Barrier(world) == 0
meet()
assert own.MPI_Init(None, None) == 0
for _ in range(2):
    meet_in_own()
    meet()
assert own.MPI_Finalize() == 0
meet()
print("done", flush=True)
"""


def test_an_mpi_with_both_of_its_abis_in_one_process(mpiabi: Sandbox):
    """Two libraries with a world each, which MPICH allows without a launcher; calls of both are seen, and both are named."""
    own = next(Path(library_of(mpiabi)).parent.glob("libmpi.so.*"))
    (mpiabi.cwd / "two_abis.py").write_text(TWO_ABIS)
    plain = mpiabi.plain("two_abis.py", str(own))
    done = mpiabi.recorded("two_abis.py", str(own))
    assert (done.code, done.stdout) == (plain.code, plain.stdout) == (0, b"done\n"), done
    assert n_barriers(mpiabi, "two_abis.allranks", "meet") == 4
    assert n_barriers(mpiabi, "two_abis.allranks", "meet_in_own") == 2
    of_the_standard, of_its_own = mpis_said(mpiabi, "two_abis.allranks")
    assert of_the_standard == of_its_own + " (MPI-5 ABI)"


def test_mpi_through_cffi(debian: Sandbox):
    program = (workload("mpi_by_ctypes.py"), library_of(debian), WORLD["openmpi"], "cffi")
    plain = debian.plain_ranks(2, *program)
    done = debian.recorded_ranks(2, *program)
    assert (done.code, done.stdout) == (plain.code, plain.stdout) == (0, b"done\ndone\n"), done
    assert n_barriers(debian, "mpi_by_ctypes.allranks", "meet") == 2 * 5


def test_petsc4py(debian: Sandbox):
    plain = debian.plain_ranks(2, workload("petsc_solves.py"))
    done = debian.recorded_ranks(2, workload("petsc_solves.py"))
    assert (done.code, sorted(done.out.split())) == (plain.code, sorted(plain.out.split())), done
    report = debian.report("petsc_solves.allranks")
    assert report.calls("solve") == 2 * 3
    n_iterations = int(next(line for line in done.out.splitlines() if "iterations" in line).split()[0])
    in_solve = sum(node["calls"] for node in report.mpi("MPI_Allreduce", "solve"))
    assert in_solve >= 2 * 3 * 2 * n_iterations  # two inner products each


def test_h5py_with_mpi(debian: Sandbox):
    plain = debian.plain_ranks(2, workload("hdf5_writes.py"))
    (debian.cwd / "together.h5").unlink()
    done = debian.recorded_ranks(2, workload("hdf5_writes.py"))
    assert (done.code, done.stdout) == (plain.code, plain.stdout) == (0, b"64\n"), done
    report = debian.report("hdf5_writes.allranks")
    assert report.calls("write") == 2
    callers = {node.python_caller for node in report.nodes if node.kind == "mpi" and node.name not in ("MPI_Init_thread", "MPI_Finalize")}
    assert callers, "no call of HDF5 was seen"


PROGRAM_IN_C = """
int MPI_Init(void *, void *); int MPI_Finalize(void); int meet_in_c(void);
int main(void) { return MPI_Init(0, 0) || meet_in_c() || meet_in_c() || MPI_Finalize(); }
"""


def test_a_rank_that_is_no_python_does_not_disturb(mpi: Sandbox):
    library = library_of(mpi)
    source, program = mpi.cwd.parent / "program.c", mpi.cwd.parent / "program"
    source.write_text(CALLER[mpi.stack.mpi] + PROGRAM_IN_C)
    # Open MPI 6 has its communicators in another library, which libmpi names.
    path = f"-Wl,--allow-shlib-undefined,--copy-dt-needed-entries,-rpath,{Path(library).parent}"
    subprocess.run(["cc", path, "-o", program, source, library], check=True)
    (mpi.cwd / "meets.py").write_text("from mpi4py import MPI\ndef meet():\n    MPI.COMM_WORLD.Barrier()\nmeet()\nmeet()\n")
    done = mpi.run([*mpi.ranks(2, *mpi.recorder(), "meets.py"), ":", "-n", "1", str(program)])
    assert done.code == 0, done
    (line,) = [line for line in done.err.splitlines() if line.startswith("allranks: ")]
    assert line.startswith("allranks: only 2 of 3 ranks were found here, so they were not merged"), line
    recovered = mpi.allranks("recover", mpi.live, "-o", "meets.allranks")
    assert recovered.code == 1 and "missing: rank 2 of 3 has no file here" in recovered.err, recovered
    assert n_barriers(mpi, "meets.allranks", "meet") == 2 * 2


SECOND = """\
import ctypes, sys
from mpi4py import MPI
def meet():
    MPI.COMM_WORLD.Barrier()
meet()
second = ctypes.CDLL(sys.argv[1])
major, minor = ctypes.c_int(), ctypes.c_int()
assert second.MPI_Get_version(ctypes.byref(major), ctypes.byref(minor)) == 0
meet()
print(MPI.COMM_WORLD.Get_rank() < MPI.COMM_WORLD.Get_size(), major.value > 0, flush=True)
"""


def test_a_second_mpi_of_the_same_kind_is_left_alone_and_named(mpi: Sandbox):
    """The same library under another name: its functions are others than those that mpi4py calls."""
    copy = mpi.cwd.parent / "libmpi_second.so"
    shutil.copy(Path(library_of(mpi)).resolve(), copy)
    (mpi.cwd / "second.py").write_text(SECOND)
    plain = mpi.plain_ranks(2, "second.py", str(copy))
    if plain.code:
        pytest.skip("two of this MPI do not go together")
    done = mpi.recorded_ranks(2, "second.py", str(copy))
    assert (done.code, done.stdout) == (plain.code, plain.stdout), done
    assert n_barriers(mpi, "second.allranks", "meet") == 2 * 2
    said = mpi.answer("info", "second.allranks").decode()
    assert "libmpi_second.so: a second one of its kind, its calls are not recorded" in said


@pytest.mark.every_stack
def test_an_mpi_that_only_a_runpath_finds(mpi: Sandbox):
    """As conda has it: a prefix with an MPI of its own, which nothing but the extension's RUNPATH names."""
    library = library_of(mpi)
    is_wheel = mpi.stack.mpi4py_major == "4" and mpi.stack.mpi != "mpiabi"
    if is_wheel or not library.startswith(str(Path(mpi.stack.python).parent.parent)):
        pytest.skip("this stack has its MPI elsewhere, or looks for it itself")
    (mpi.cwd / "meets.py").write_text("from mpi4py import MPI\ndef meet():\n    MPI.COMM_WORLD.Barrier()\nmeet()\n")
    done = mpi.recorded_ranks(2, "meets.py")
    assert done.code == 0, done
    assert n_barriers(mpi, "meets.allranks", "meet") == 2
