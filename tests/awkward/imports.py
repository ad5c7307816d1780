# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# run: -m MODULE
# run: DIRECTORY
"""runpy, importlib.reload, imports from files and archives, circular and failing ones, lazy ones, path hooks."""

import importlib
import importlib.util
import os
import runpy
import sys
import tempfile
import types
import zipfile

place = tempfile.mkdtemp()


def write(name, text):
    with open(os.path.join(place, name), "w") as file:
        file.write(text)


write("simple_module.py", "print('imported as', __name__, __file__.rpartition('/')[2], __spec__ and __spec__.name)\nvalue = 1\n")
write("circular_a.py", "import circular_b\nname = circular_b.__name__\n")
write("circular_b.py", "import circular_a\nprint(hasattr(circular_a, 'name'))\n")
write("failing.py", "def f():\n    1 / 0\nf()\n")
write("exiting.py", "import sys\nsys.exit(3)\n")
write("with_getattr.py", "def __getattr__(name):\n    return name * 2\n")
with zipfile.ZipFile(os.path.join(place, "archive.zip"), "w") as archive:
    archive.writestr("in_archive.py", "print('in archive', __loader__.__class__.__name__)\ndef f():\n    1 / 0\n")
sys.path[:0] = [place, os.path.join(place, "archive.zip")]

import simple_module

simple_module.value = 2
importlib.reload(simple_module)
print(simple_module.value)
print(*sorted(runpy.run_module("simple_module")))
print(runpy.run_path(os.path.join(place, "simple_module.py"), {"x": 1}, "__main__")["value"], __name__)
print(sys.modules["__main__"].__dict__ is globals(), sys.argv)
import circular_a
import in_archive

for name in ("failing", "no_such_module", "exiting"):
    try:
        importlib.import_module(name)
    except (ImportError, ZeroDivisionError, SystemExit) as error:
        trace, names = error.__traceback__, []
        while trace:
            names.append((os.path.basename(trace.tb_frame.f_code.co_filename), trace.tb_frame.f_code.co_name))
            trace = trace.tb_next
        print(repr(error), names, name in sys.modules)
try:
    in_archive.f()
except ZeroDivisionError:
    import traceback

    print(traceback.format_exc().replace(place, "..."))
from with_getattr import anything

print(anything)
spec = importlib.util.spec_from_file_location("lazy", os.path.join(place, "simple_module.py"))
spec.loader = importlib.util.LazyLoader(spec.loader)
lazy = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lazy)
print(type(lazy).__name__, lazy.value)


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "made_up":
            return importlib.util.spec_from_loader(name, Finder)

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        module.value = sys._getframe(1).f_code.co_name


sys.meta_path.append(Finder)
import made_up

print(made_up.value, importlib.import_module("made_up") is made_up)
print(types.ModuleType("m"), importlib.util.find_spec("__main__") if __spec__ else None)
