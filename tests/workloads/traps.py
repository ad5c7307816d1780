# SPDX-License-Identifier: BSD-3-Clause
"""Uses the modules of trap_module.c, which must be in the current directory as trap.so; prints what it sees."""

import ctypes
import gc
import importlib.machinery
import importlib.util
import os
import sys


def load(name):
    loader = importlib.machinery.ExtensionFileLoader(name, os.path.abspath("trap.so"))
    spec = importlib.util.spec_from_file_location(name, loader.path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def by_convention():
    for _ in range(3):
        print(trap.none_given(), trap.one_given(5), trap.same(6), trap.tuple_given(1, 2))
        print(trap.dict_given(1, a=2), trap.dict_given(), trap.array_given(1, 2, 3), trap.array_given())
        print(trap.names_given(1, b=2, c=3), trap.names_given(*[1, 2]), trap.names_given(**{"d": 4}))
    for wrong in (lambda: trap.one_given(), lambda: trap.none_given(1), lambda: trap.tuple_given(a=1), lambda: trap.fails("on purpose")):
        try:
            print(wrong())
        except (TypeError, LookupError) as error:
            print(type(error).__name__, error, error.__context__)
    try:
        raise KeyError("before")
    except KeyError:
        try:
            trap.fails("after")
        except LookupError as error:
            print(repr(error.__context__))


def by_type():
    class Derived(trap.Early):
        pass

    for made in (trap.Early, Derived, trap.late_type(), trap.late_type()):
        made_object = made()
        print(made_object.where(1, 2), made_object.none_given(), made.of_class(3), made_object.of_class(4), made.of_nothing(5))


def from_c():
    print(trap.calls(lambda: trap.one_given(trap.calls(lambda: max([1, 2], key=lambda x: -x)))))
    try:
        trap.calls(lambda: trap.fails("through C"))
    except LookupError as error:
        print(error)


def with_errno():
    """Of the first call, which has to be put into the tree, and of later ones."""
    print([trap.errno_after(function, 4) for function in (abs, trap.one_given, abs, trap.same, bool, lambda x: x)])


def from_heap():
    """Each module has functions of its own whose definitions go with them, and others come in their place."""
    for _ in range(40):
        module = load("trap")
        print([getattr(module, f"heap_{i}")() for i in range(4)], module.make(7)(), module.make(8)())
        del module
        gc.collect()


def again_in_one_phase():
    for _ in range(3):
        print(load("trap_single").one_given(1))


def that_fail():
    for name in ("trap_no_init", "trap_no_exec", "trap_other_error", "trap_absent"):
        for _ in range(2):
            try:
                print(load(name))
            except Exception as error:
                text = str(error).replace(os.getcwd(), "HERE")
                print(type(error).__name__, text, repr(error.__cause__), repr(error.__context__))


def is_writable(address):
    """Whether the page is mapped so."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            first, last = (int(word, 16) for word in line.split()[0].split("-"))
            if first <= address < last:
                return "w" in line.split()[1]
    raise LookupError(address)


def in_read_only_memory():
    """m_ml is the first field of a function object. The page is as it was."""
    definition = ctypes.c_void_p.from_address(id(trap.one_given) + 16).value
    print("writable", is_writable(definition), trap.one_given(2))


trap = load("trap")
for part in sys.argv[1:]:
    globals()[part]()
