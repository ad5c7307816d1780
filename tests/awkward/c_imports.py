# SPDX-License-Identifier: BSD-3-Clause
"""Modules in C come late, fail to come, come again, and go; their functions work all the time."""

import _ctypes
import _imp
import gc
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig


def show(what):
    try:
        print(what())
    except BaseException as error:
        print(type(error).__name__, str(error).replace(os.getcwd(), "HERE"), error.__cause__, error.__context__)


def load(name, path):
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


with open("broken.so", "w") as file:
    file.write("not a library")
show(lambda: load("broken", os.path.abspath("broken.so")))
show(lambda: load("absent", os.path.abspath("absent.so")))
show(lambda: load("misnamed", _ctypes.__file__))
try:
    raise KeyError("pending")
except KeyError:
    show(lambda: load("broken", os.path.abspath("broken.so")))
for name in ("math", "zlib", "_csv", "_struct", "unicodedata", "_heapq", "array"):
    module = importlib.import_module(name)
    functions = sorted(each for each in vars(module) if callable(vars(module)[each]))
    again = importlib.reload(module)
    print(name, again is module, functions == sorted(each for each in vars(again) if callable(vars(again)[each])))
for _ in range(3):
    for name in ("math", "zlib", "_csv", "_struct"):
        sys.modules.pop(name)
        module = importlib.import_module(name)
        del module
    gc.collect()
    import math
    import zlib

    print(math.sqrt(4), zlib.crc32(b"a"), sys.modules["_struct"].calcsize("i"))
print(_imp.is_builtin("sys"), _imp.is_builtin("no such"), _imp.init_frozen("no such"))
spec = importlib.machinery.BuiltinImporter.find_spec("time")
for _ in range(2):
    made = _imp.create_builtin(spec)
    print(made.__name__, _imp.exec_builtin(made), made.sleep(0))
show(lambda: _imp.create_builtin(3))
show(lambda: _imp.create_dynamic(3))
show(lambda: _imp.exec_dynamic(3))
print(bool(sysconfig.get_config_var("EXT_SUFFIX")))


class Finder:
    """Calls C functions, and imports, while an import is under way."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "bisect_again":
            import _bisect

            return sorted([3, 1], key=lambda x: _bisect.bisect_right([1, 2], x)) and None


sys.meta_path.insert(0, Finder)
show(lambda: importlib.import_module("bisect_again"))
sys.meta_path.remove(Finder)
