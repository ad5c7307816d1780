# SPDX-License-Identifier: BSD-3-Clause
"""Modules that stand in for other profilers: a program that uses one of those runs unchanged. See docs/drop-ins.md.

    allranks run --as mpiprof script.py       `import mpiprof` in script.py is allranks.compat.mpiprof
    allranks install-shims mpiprof            ... in every Python of this environment, and `python -m mpiprof` works

A drop-in is a module of this package, or a package with submodules, and a line in DROP_INS.
"""

import os
import sys

TYPE_CHECKING = False  # this is loaded before the program: nothing else is to be
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class DropIn:
    """The modules that programs import: for the name `x.y` allranks.compat.x.y stands in.

    `extends`: the original is more than a profiler. Where it is installed it stays in use, and each of these modules
    only receives the names in `__all__` of its stand-in that it lacks.

    `commands`: what install-shims puts beside the interpreter; each calls main() of the first module.
    """

    __slots__ = ("commands", "extends", "modules")

    def __init__(self, *modules: str, extends: bool = False, commands: "tuple[str, ...]" = ()) -> None:
        self.modules = modules
        self.extends = extends
        self.commands = commands


# By the name for --as and install-shims, which is that of the top-level module.
DROP_INS = {
    "mpiprof": DropIn("mpiprof"),
    "pyop2": DropIn("pyop2", "pyop2.profiling", extends=True),
    "pyperfdump": DropIn("pyperfdump"),
    "scorep": DropIn("scorep", "scorep.instrumenter", "scorep.user", "scorep._bindings"),
    "kernprof": DropIn("kernprof", commands=("kernprof", "kernprof.py")),
    "line_profiler": DropIn(
        "line_profiler",
        "line_profiler.__main__",
        "line_profiler._line_profiler",
        "line_profiler.explicit_profiler",
        "line_profiler.ipython_extension",
        "line_profiler.line_profiler",
    ),
}


def load(name: str) -> "ModuleType":
    """The module that stands in for `name`."""
    return __import__(f"{__name__}.{name}", fromlist=["*"])


def is_stand_in(module: object) -> bool:
    return getattr(module, "__name__", "").startswith(f"{__name__}.")


# ---- finding ----


class DropInFinder:
    """Answers an import of a drop-in's modules; the stand-in is loaded only then.

    It comes before all other finders. With `--as mpiprof` the user asks for the stand-in by name: whether an installed
    original came in its place would depend on the machine.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()  # of drop-ins

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "ModuleSpec | None":
        top = name.partition(".")[0]
        if top not in self.names or name not in DROP_INS[top].modules:
            return None
        original = find_original(name, path, target) if DROP_INS[top].extends else None
        if original:
            original.loader = ExtendingLoader(original.loader)  # type: ignore[assignment]
            return original
        spec: ModuleSpec = type(__spec__)(name, self, origin=f"{__name__}.{name}")  # type: ignore[arg-type]
        return spec

    def create_module(self, spec: "ModuleSpec") -> None:
        return None

    def exec_module(self, module: "ModuleType") -> None:
        # One module under two names: the import system takes the one that is in sys.modules afterwards.
        sys.modules[module.__name__] = load(module.__name__)


def find_original(name: str, path: "Any", target: "Any") -> "ModuleSpec | None":
    """As the other finders see it. None: it is not installed; a directory without __init__.py is no installation."""
    if is_stand_in(sys.modules.get(name.rpartition(".")[0])):
        return None  # the stand-in's own file would be found, and loaded a second time
    for finder in sys.meta_path:
        if isinstance(finder, DropInFinder):
            continue
        spec = finder.find_spec(name, path, target)
        if spec:
            is_usable = hasattr(spec.loader, "exec_module") and not is_shim(spec.origin or "")
            return spec if is_usable else None
    return None


class ExtendingLoader:
    """Makes the original's module with the stand-in's names already in it; the original's own then replace them.

    After that the module has the original's loader, which runs it. No frame of ours is on the stack while it runs, so
    tracebacks are as without us.
    """

    def __init__(self, loader: "Any") -> None:
        self.loader = loader

    def __getattr__(self, name: str) -> "Any":
        return getattr(self.loader, name)

    def create_module(self, spec: "ModuleSpec") -> "ModuleType":
        spec.loader = self.loader
        module: ModuleType = self.loader.create_module(spec) or type(sys)(spec.name)
        stand_in = load(spec.name)
        for name in stand_in.__all__:
            if not hasattr(module, name):
                setattr(module, name, getattr(stand_in, name))
        return module


def is_importable(name: str) -> bool:
    """A shim counts as well as the original. The current directory does not: another command may run elsewhere."""
    from importlib.machinery import PathFinder

    here = os.getcwd()
    return PathFinder.find_spec(name, [entry for entry in sys.path if entry and os.path.abspath(entry) != here]) is not None


def use(names: "tuple[str, ...]") -> None:
    """Let imports find these drop-ins from now on, in this process."""
    finder = next((each for each in sys.meta_path if isinstance(each, DropInFinder)), None)
    if names and not finder:
        finder = DropInFinder()
        sys.meta_path.insert(0, finder)
    if finder:
        finder.names.update(names)


# ---- shims ----

# The first line identifies a file that `allranks install-shims` has written.
SHIM_LINE = "# Made by `allranks install-shims`; `allranks install-shims --remove` removes it."


def is_shim(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip("\n") == SHIM_LINE
    except OSError:
        return False


def is_command_shim(path: str) -> bool:
    """The line is one of the first: before it stands the interpreter."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return SHIM_LINE in (file.readline().rstrip("\n") for _ in range(4))
    except OSError:
        return False


def load_for_shim(name: str) -> "ModuleType":
    """The stand-in for a top-level module; its submodules are found by the same finder as with --as."""
    if len(DROP_INS[name].modules) > 1:
        use((name,))
    return load(name)


# ---- the launcher ----

RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")


SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")


def has_other_ranks() -> bool:
    sizes = (os.environ.get(name, "") for name in SIZE_VARIABLES)
    return any(size.isdigit() and int(size) > 1 for size in sizes)


def rank_of_this_process() -> str:
    """As the launcher says; without a launcher rank 0."""
    return next((os.environ[name] for name in RANK_VARIABLES if name in os.environ), "0")
