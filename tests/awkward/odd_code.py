# SPDX-License-Identifier: BSD-3-Clause
"""Code with odd file names and lines, changed code objects, functions made by hand, odd globals."""

import dis
import sys
import types

print(eval(compile("1 + 1", "", "eval")))
for name in ("<odd>", "/no/such/file.py", "caf\xe9", "\udcff", "x" * 5000, "line\nbreak", "nul\0byte", "\U0001f40d"):
    try:
        code = compile("def f():\n    return 1 / 0\nf()\n", name, "exec")
    except ValueError as error:
        print(ascii(name[:20]), error)
        continue
    try:
        exec(code)
    except ZeroDivisionError as error:
        trace = error.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        print(ascii(trace.tb_frame.f_code.co_filename[:20]), trace.tb_lineno)


def original(a, b=2, *args, c=3, **kwargs):
    """Doc."""
    return a + b + c


for changes in ({"co_name": ""}, {"co_name": "\udc80"}, {"co_name": "x" * 70000}, {"co_firstlineno": 0}, {"co_firstlineno": 2**31 - 1},
                {"co_filename": ""}, {"co_filename": "relative/../path"}):  # fmt: skip
    changed = original.__code__.replace(**changes)
    f = types.FunctionType(changed, globals(), "name", (5,))
    print(sorted(changes), f(1, c=3), f.__code__ == changed, hash(changed) == hash(original.__code__))
f = types.FunctionType(original.__code__, {}, "mine", (7,))
print(f.__name__, f.__defaults__, f(1, 1, c=1), "__builtins__" in f.__globals__, sorted(f.__globals__))
empty = {}
exec("def g(): return 1\nresult = g()", empty)
print(sorted(empty))
bare = {"__builtins__": {}}
exec("def g(): return 1\nresult = g()", bare)
print(sorted(bare), bare["result"])
try:
    exec("print(1)", {"__builtins__": {}})
except NameError as error:
    print(error)


class Globals(dict):
    def __missing__(self, key):
        return key.upper()


class Locals(dict):
    def __missing__(self, key):
        return f"<{key}>"


print(eval("unknown", {}, Locals()))
space = Globals(known=1)
exec("def h(): return known\nresult = h()", space)
print(space["result"])
print(sys.getsizeof(original), original.__code__.co_stacksize, original.__code__.co_flags)
before = original.__code__.co_code
for _ in range(100):
    original(1)
print(original.__code__.co_code == before, len(dis.Bytecode(original).dis().splitlines()) > 3)
original.__code__ = (lambda a, b=1, *args, c=3, **kwargs: "replaced").__code__
print(original(1))
import marshal

print(marshal.loads(marshal.dumps(original.__code__)) == original.__code__, len(marshal.dumps(original.__code__)) > 10)


def strange_frames():
    """No arguments, no lines, no name."""
    code = compile("lambda: (yield)", "<none>", "eval")
    generator = eval(code)()
    next(generator)
    try:
        generator.throw(ValueError("thrown in"))
    except ValueError as error:
        print(error)


strange_frames()
if sys.version_info >= (3, 11):
    print(original.__code__.co_qualname, len(list(original.__code__.co_positions())))
print(eval("(lambda f: f(f, 20))(lambda f, n: n if n < 2 else f(f, n - 1) + f(f, n - 2))"))
long = "def big():\n    x = 0\n" + "".join("    x += 1\n" for _ in range(20000)) + "    return x\n"
exec(long)
print(long.count("\n"), globals()["big"]())
