# SPDX-License-Identifier: BSD-3-Clause
"""C functions as keys: hashes and equality use the address of the function, also in sets that were made long before."""

import _thread
import builtins
import collections
import importlib
import io
import math
import os
import re
import shutil
import types
import zlib

for name in ("supports_dir_fd", "supports_effective_ids", "supports_fd", "supports_follow_symlinks"):
    members = getattr(os, name)
    found = sorted(each for each in dir(os) if type(getattr(os, each)) is types.BuiltinFunctionType and getattr(os, each) in members)
    print(name, len(members), found)
print("rmtree", shutil.rmtree.avoids_symlink_attacks)
print("names", _thread.start_new == _thread.start_new_thread, hash(_thread.start_new) == hash(_thread.start_new_thread))
print("names", _thread.allocate == _thread.allocate_lock, io.open is open, len == abs, len != abs)
line = collections.deque("ab")
print("methods", line.copy == line.__copy__, line.copy == line.copy, hash(line.copy) == hash(line.__copy__), line.copy == line.pop)
pattern = re.compile("a")
print("methods with a class", pattern.match == pattern.match, hash(pattern.match) == hash(pattern.match), pattern.match in {pattern.match})
print("methods", "a".upper == "a".upper, hash("a".upper) == hash("a".upper), str.upper == str.upper, str.upper in {str.upper})


def functions_of(module):
    return {each for each in vars(module).values() if isinstance(each, types.BuiltinFunctionType)}


def are_there(table):
    """Whether each key is found in the table that it is in, and in one made now."""
    now = set(table)
    return [len(now) == len(table), all(key in table for key in table), all(key in now for key in table)]


kept = [functions_of(module) for module in (builtins, math, os, zlib)]
hashes = [{function.__qualname__: hash(function) for function in each} for each in kept]
for late in ("sqlite3", "decimal", "array", "_ctypes", "unicodedata", "_random", "cmath", "bz2"):
    kept.append(functions_of(importlib.import_module(late)))
    hashes.append({function.__qualname__: hash(function) for function in kept[-1]})
print([are_there(each) for each in kept])
print(all(hash(function) == hashes[i][function.__qualname__] for i, each in enumerate(kept) for function in each))
print(types.BuiltinFunctionType.__hash__(len) == hash(len), types.BuiltinFunctionType.__eq__(len, len), types.BuiltinFunctionType.__eq__(len, abs))
print(types.BuiltinFunctionType.__lt__(len, abs), type(len).__ne__(len, len), len.__eq__(len), len.__hash__() == hash(len))
try:
    print(len < abs)
except TypeError as error:
    print(error)
methods = {name: getattr(line, name) for name in ("append", "pop", "rotate", "count")}
print([methods[name] == getattr(line, name) for name in methods], {method: 1 for method in methods.values()}[line.rotate])
