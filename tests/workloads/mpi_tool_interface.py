# SPDX-License-Identifier: BSD-3-Clause
"""Proves that the tool interface of MPI answers as ever. Through ctypes, before, while and after MPI is there, with a session
and all that it names. Prints what it was told, and how often each function was called.
"""

import collections
import ctypes
import json

from mpi4py import MPI

calls = collections.Counter()
told = {}
with open("/proc/self/maps") as maps:
    library = ctypes.CDLL(sorted({line.split()[-1] for line in maps if "/libmpi" in line})[0], ctypes.RTLD_GLOBAL)


def call(name, *arguments):
    calls[f"MPI_T_{name}"] += 1
    return getattr(library, f"MPI_T_{name}")(*arguments)


def number(name):
    n = ctypes.c_int(-1)
    return call(name, ctypes.byref(n)), n.value


def variable(name, i):
    """The name and kind of a control variable."""
    text, n_text = ctypes.create_string_buffer(256), ctypes.c_int(256)
    kinds = [ctypes.c_int() for _ in range(3)]
    verbosity, bind, scope = kinds
    datatype, enumeration = ctypes.c_void_p(), ctypes.c_void_p()
    rc = call(
        name, i, text, ctypes.byref(n_text), ctypes.byref(verbosity), ctypes.byref(datatype), ctypes.byref(enumeration),
        None, None, ctypes.byref(bind), ctypes.byref(scope),
    )  # fmt: skip
    return [rc, text.value.decode(), verbosity.value, bind.value, scope.value]


def session():
    handle = ctypes.c_void_p()
    created = call("pvar_session_create", ctypes.byref(handle))
    return [created, call("pvar_session_free", ctypes.byref(handle))]


provided = ctypes.c_int()
told["init"] = call("init_thread", 0, ctypes.byref(provided))
told["numbers"] = [number(name) for name in ("cvar_get_num", "pvar_get_num", "category_get_num")]
told["variables"] = [variable("cvar_get_info", i) for i in range(20)]
told["beyond"] = variable("cvar_get_info", 1 << 30)
told["session"] = session()
MPI.COMM_WORLD.Barrier()
told["finalize"] = call("finalize")
print(json.dumps({"told": told, "calls": calls}))
