# SPDX-License-Identifier: BSD-3-Clause
"""Modules that stand in for other profilers: a program that uses one of those runs unchanged. See docs/drop-ins.md.

    allranks run --as mpiprof script.py       `import mpiprof` in script.py is allranks.compat.mpiprof
    allranks install-shims mpiprof            ... in every Python of this environment, and `python -m mpiprof` works

A drop-in is a module of this package and a line in DROP_INS.
"""

import sys

# The name that programs import, and the module that stands in.
DROP_INS = {"mpiprof": "allranks.compat.mpiprof"}

TYPE_CHECKING = False  # this is loaded before the program: nothing else is to be
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class DropInFinder:
    """Answers an import of `names` with our module, which is loaded only then.

    It comes before all other finders. Who writes `--as mpiprof` has asked for ours by name: that an installed original
    came in its place, or not, would depend on the machine.
    """

    def __init__(self, names: "tuple[str, ...]") -> None:
        self.names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        if name not in self.names:
            return None
        spec: ModuleSpec = type(__spec__)(name, self, origin=DROP_INS[name])  # type: ignore[arg-type]
        return spec

    def create_module(self, spec: "ModuleSpec") -> None:
        return None

    def exec_module(self, module: "ModuleType") -> None:
        # One module under two names: the import system takes what then stands in sys.modules.
        sys.modules[module.__name__] = load(module.__name__)


def load(name: str) -> "ModuleType":
    """The module that stands in for `name`."""
    return __import__(DROP_INS[name], fromlist=["*"])


def use(names: "tuple[str, ...]") -> None:
    """From now on, in this process."""
    if names:
        sys.meta_path.insert(0, DropInFinder(names))
