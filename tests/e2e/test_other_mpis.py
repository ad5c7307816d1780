# SPDX-License-Identifier: BSD-3-Clause
"""More than one library with MPI's functions in one process: each caller gets the answers of its own library.

Libraries here can be told apart by what they answer. They are loaded before mpi4py and after it, closed again, and used
through ctypes and by callers in C.
"""

import subprocess
from pathlib import Path

import pytest
from harness import Done, Sandbox
from test_libraries import library_of, mpis_said, n_barriers

# What a solver brings along for sequential runs: few functions, handles of its own, no MPI behind it.
STUB = """
int MPI_Initialized(int *flag) { *flag = 17; return 0; }
int MPI_Barrier(long comm) { return 4000 + (int)comm; }
int MPI_Comm_rank(long comm, int *rank) { *rank = 4200 + (int)comm; return 0; }
"""
PROFILED_STUB = STUB + """
int PMPI_Init(void *a, void *b) { return 1; }
int PMPI_Barrier(long comm) { return 4000 + (int)comm; }
int PMPI_Get_library_version(char *text, int *n) { __builtin_trap(); }
"""
SOLVER = """
int MPI_Barrier(long); int MPI_Comm_rank(long, int *); int MPI_Initialized(int *);
int solve(void) { int rank = -1; MPI_Comm_rank(91, &rank); return MPI_Barrier(7) * 10000 + rank; }
int asks(void) { int flag = -1; MPI_Initialized(&flag); return flag; }
"""

USES_STUB = """\
import _ctypes, ctypes, os, sys
library, how, order, loader = sys.argv[1:]
mode = {"local": os.RTLD_LOCAL, "global": os.RTLD_GLOBAL, "deep": os.RTLD_LOCAL | os.RTLD_DEEPBIND}[how]

def load_lazily():
    # As a library in C would: Python itself always asks for RTLD_NOW.
    dlopen = ctypes.CDLL(None).dlopen
    dlopen.restype, dlopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int]
    return ctypes.CDLL(library, handle=dlopen(library.encode(), os.RTLD_LAZY | mode))

def use_stub():
    solver = load_lazily() if loader == "lazily" else ctypes.CDLL(library, mode)
    said = [solver.solve(), solver.asks(), solver.solve()]
    import decimal, zlib  # something else is loaded meanwhile
    said += [solver.solve(), solver.asks()]
    if hasattr(solver, "MPI_Barrier"):
        said.append(solver.MPI_Barrier(ctypes.c_long(5)))
    print("stub", *said, flush=True)
    opened.append(solver)

def use_mpi():
    from mpi4py import MPI
    MPI.COMM_WORLD.Barrier()
    print("mpi", MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, MPI.Is_initialized(), flush=True)

def close():
    _ctypes.dlclose(opened.pop()._handle)
    print("loaded", any(name in line for line in open("/proc/self/maps") for name in ("libsolver.so", "libstub.so")), flush=True)

opened = []
for use in (use_stub, use_mpi, use_stub) if order == "first" else (use_mpi, use_stub, use_mpi):
    use()
while opened:
    close()
use_mpi()
use_mpi()
"""


def compiled(mpi: Sandbox, name: str, source: str, *words: str | Path) -> Path:
    """A shared library, found by those that name it from the directory it is in."""
    folder = mpi.cwd.parent
    (folder / f"{name}.c").write_text(source)
    target = folder / f"lib{name}.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-w", f"-Wl,-rpath,{folder}", f"-Wl,-soname,{target}", "-o", target,
                    folder / f"{name}.c", *words], check=True)  # fmt: skip
    return target


def same(mpi: Sandbox, *program: str, **how) -> Done:
    plain = mpi.plain(*program, **how)
    if plain.code:
        pytest.skip("these do not go together without allranks, either")
    done = mpi.recorded(*program, **how)
    assert (done.code, done.stdout) == (plain.code, plain.stdout), f"{done}\nand without:\n{plain}"
    return done


@pytest.mark.parametrize("loader", ["now", "lazily"])
@pytest.mark.parametrize("how", ["local", "global", "deep"])
@pytest.mark.parametrize("order", ["first", "second"])
@pytest.mark.parametrize("built", ["in", "beside", "with_pmpi"])
def test_a_sequential_stub_keeps_its_callers(one_mpi: Sandbox, built: str, order: str, how: str, loader: str):
    """Built into a solver, or a library beside it; whether it goes away when it is closed is the same, too."""
    if how == "global" and order == "first":
        pytest.skip("mpi4py itself would call the stub")
    if built == "in":
        solver = compiled(one_mpi, "solver", SOLVER + STUB.replace("int MPI", "\nint MPI"), "-Wl,-z,lazy")
    else:
        stub = compiled(one_mpi, "stub", PROFILED_STUB if built == "with_pmpi" else STUB)
        solver = compiled(one_mpi, "solver", SOLVER, stub, "-Wl,-z,lazy")
    (one_mpi.cwd / "uses_stub.py").write_text(USES_STUB)
    same(one_mpi, "uses_stub.py", str(solver), how, order, loader)
    assert n_barriers(one_mpi, "uses_stub.allranks", "use_mpi") == (3 if order == "first" else 4)
    assert n_barriers(one_mpi, "uses_stub.allranks", "use_stub") == 0


SECOND_VERSION = b"9.8.7"
CALLS_VERSION = """
int MPI_Get_library_version(char *, int *); int MPI_Initialized(int *);
int version(char *text, int *n) { return MPI_Get_library_version(text, n); }
int is_up(void) { int flag = -1; MPI_Initialized(&flag); return flag; }
"""
TWO_COPIES = """\
import ctypes, sys
second, caller, order = sys.argv[1:]

def ask(function):
    text, n = ctypes.create_string_buffer(16384), ctypes.c_int()
    assert function(text, ctypes.byref(n)) == 0
    return b"9.8.7" in text.value

def use_second():
    by_ctypes, in_c = ctypes.CDLL(second), ctypes.CDLL(caller)
    flag = ctypes.c_int(-1)
    assert by_ctypes.MPI_Initialized(ctypes.byref(flag)) == 0
    print("second", ask(by_ctypes.MPI_Get_library_version), ask(in_c.version), flag.value, in_c.is_up(), flush=True)

def use_mpi():
    from mpi4py import MPI
    MPI.COMM_WORLD.Barrier()
    print("first", "9.8.7" in MPI.Get_library_version(), MPI.Is_initialized(), flush=True)

for use in (use_second, use_mpi, use_second, use_mpi) if order == "first" else (use_mpi, use_second, use_mpi, use_second):
    use()
"""


def another_copy(mpi: Sandbox) -> Path:
    """The same MPI once more, under another name of the same length, and with another version in its text."""
    library = Path(library_of(mpi)).resolve()
    said = mpi.plain("-c", "from mpi4py import MPI; print(MPI.Get_library_version())").out
    version = next(word.strip(",v") for word in said.replace("\t", " ").split() if word.strip(",v").count(".") == 2)
    wanted = SECOND_VERSION + b"\0" * (len(version) - len(SECOND_VERSION))
    assert len(wanted) == len(version), version
    asked = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    soname = next(line.partition("[")[2].rstrip("]") for line in asked.splitlines() if "(SONAME)" in line)
    renamed = soname.replace("libm", "secm", 1)
    image = library.read_bytes().replace(version.encode(), wanted)
    copy = mpi.cwd.parent / renamed
    copy.write_bytes(image.replace(f"\0{soname}\0".encode(), f"\0{renamed}\0".encode()))
    return copy


@pytest.mark.parametrize("order", ["first", "second"])
def test_two_copies_of_one_mpi_give_their_own_answers(mpi: Sandbox, order: str):
    second = another_copy(mpi)
    caller = compiled(mpi, "caller", CALLS_VERSION, second, "-Wl,--allow-shlib-undefined")
    (mpi.cwd / "two_copies.py").write_text(TWO_COPIES)
    same(mpi, "two_copies.py", str(second), str(caller), order)
    (left_alone,) = [said for said in mpis_said(mpi, "two_copies.allranks") if "not recorded" in said]
    assert "a second one of its kind, its calls are not recorded" in left_alone
    if order == "second":
        assert n_barriers(mpi, "two_copies.allranks", "use_mpi") == 2


# Another tool, as it stands between a program and MPI. Communicators are as wide as a pointer, or narrower.
TOOL_BY_NAME = """
static int n; int tool_count(void) { return n; }
int PMPI_Barrier(void *); int MPI_Barrier(void *comm) { n++; return PMPI_Barrier(comm); }
"""
TOOL_BY_DLSYM = """
#define _GNU_SOURCE
#include <dlfcn.h>
static int n; int tool_count(void) { return n; }
int MPI_Barrier(void *comm)
{
    static int (*next)(void *);
    if (!next)
        next = (int (*)(void *))dlsym(RTLD_NEXT, "PMPI_Barrier");
    n++;
    return next(comm);
}
"""
USES_TOOL = """\
import ctypes
from mpi4py import MPI
def meet():
    MPI.COMM_WORLD.Barrier()
for _ in range(3):
    meet()
print(ctypes.CDLL(None).tool_count(), MPI.COMM_WORLD.allreduce(1), flush=True)
"""


@pytest.mark.parametrize("source", [TOOL_BY_NAME, TOOL_BY_DLSYM], ids=["by_name", "by_dlsym"])
def test_a_preloaded_tool_sees_what_it_saw(mpi: Sandbox, source: str):
    """And its calls are recorded as those of the program."""
    library = library_of(mpi)
    words = ("-Wl,--no-as-needed,--allow-shlib-undefined", library, f"-Wl,-rpath,{Path(library).parent}")
    tool = compiled(mpi, "tool", source, *words)
    (mpi.cwd / "uses_tool.py").write_text(USES_TOOL)
    preload = ("env", f"LD_PRELOAD={tool}")
    plain = mpi.run(mpi.ranks(2, *preload, mpi.stack.python, "uses_tool.py"))
    done = mpi.run(mpi.ranks(2, *preload, *mpi.recorder(), "uses_tool.py"))
    assert (done.code, done.stdout) == (plain.code, plain.stdout) == (0, b"3 2\n3 2\n"), f"{done}\nand without:\n{plain}"
    assert mpi.info("uses_tool.allranks").ranks == [0, 1]
    assert n_barriers(mpi, "uses_tool.allranks", "meet") == 2 * 3


# Preloaded: what the linker lists for the runtime is unloaded as soon as it was listed, at the n-th list from then on, as
# another thread could do it. Others, such as UCX, make lists under locks of their own.
UNLOADS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <string.h>
typedef int visitor(struct dl_phdr_info *, size_t, void *);
static int (*next)(visitor *, void *);
static void *victim; static int n_left; static uintptr_t start, end;
__attribute__((constructor)) static void find_next(void) { next = (int (*)(visitor *, void *))dlsym(RTLD_NEXT, "dl_iterate_phdr"); }
static void unload(void) { void *handle = victim; victim = 0; dlclose(handle); }
static int find_runtime(struct dl_phdr_info *info, size_t n, void *context)
{
    for (int i = 0; strstr(info->dlpi_name, "/allranks/_runtime.") && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            start = info->dlpi_addr + part->p_vaddr;
            end = start + part->p_memsz;
        }
    }
    return 0;
}
int arm(const char *path, int n)
{
    next(find_runtime, 0);
    n_left = n;
    return (victim = dlopen(path, RTLD_LAZY)) != 0;
}
int disarm(void) { int was_sprung = !victim; if (victim) unload(); return was_sprung; }
int dl_iterate_phdr(visitor *visit, void *data)
{
    uintptr_t caller = (uintptr_t)__builtin_return_address(0);
    if (!next)
        find_next();
    int last = next(visit, data);
    if (victim && caller >= start && caller < end && --n_left == 0)
        unload();
    return last;
}
"""
IS_UNLOADED = """\
import ctypes, sys
from mpi4py import MPI
shim, (library, victim) = ctypes.CDLL(None), sys.argv[1:]
n_sprung = 0
for n in range(1, 12):
    assert shim.arm(victim.encode(), n)
    ctypes.CDLL(library).solve  # dlsym: that is when what was loaded is looked at
    n_sprung += shim.disarm()
open("sprung", "w").write(str(n_sprung))
MPI.COMM_WORLD.Barrier()
print("done", flush=True)
"""


def test_libraries_that_go_while_we_look(mpi: Sandbox):
    """Names and tables of an object are gone with it, at any moment. The victim is one that calls MPI."""
    shim = compiled(mpi, "shim", UNLOADS)
    solver = compiled(mpi, "solver", SOLVER + STUB)
    calls = "".join(f"int MPI_{i}(void); int call_{i}(void) {{ return MPI_{i}(); }}\n" for i in range(3000))
    victim = compiled(mpi, "victim", SOLVER + calls, "-Wl,-z,lazy")
    (mpi.cwd / "is_unloaded.py").write_text(IS_UNLOADED)
    same(mpi, "is_unloaded.py", str(solver), str(victim), env={"LD_PRELOAD": str(shim)})
    assert int((mpi.cwd / "sprung").read_text()) >= 3  # each of our lists has been one of them
