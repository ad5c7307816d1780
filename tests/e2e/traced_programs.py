# SPDX-License-Identifier: BSD-3-Clause
"""Random programs that note each time they enter and leave a function, with their own look at the clock; and what they noted, as a
test reads it.

They are the programs of random_programs.py, rewritten: in place of a word about each call there is one at both ends of it. A
generator or coroutine leaves where it yields and enters where it runs on, by whatever way. Where the interpreter runs one
without giving it a chance to say so, the innermost one speaks for it, as there; functions called `mute…` or `<…>` say nothing.

A note is [kind, name, thread, ns]. Kinds: `+` and `-` enter and leave a Python function, `c+` and `c-` around a call of a function in
C, `r+` and `r-` around a region, `p` a parameter, `off` and `on` of the trace, `pause` and `resume` of everything.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from random_programs import write_program

TRACED_FUEL = 40
# In the thread that has all there is.
STATEMENTS = (
    "_note('r+', 'solve')\n    try:\n        with allranks.region('solve'): x += {f}(n - 1)\n    finally: _note('r-', 'solve')",
    "_note('r+', 'outer'); _note('r+', 'inner')\n    try:\n"
    "        with allranks.region('outer'), allranks.region('inner'): x += {f}(n - 1)\n"
    "    finally: _note('r-', 'inner'); _note('r-', 'outer')",
    "x += decorated({n}) + itself({n})",
    "_note('p', 'level={n}'); allranks.parameter('level', {n})",
    "_note('p', 'word=a{n}'); allranks.parameter('word', 'a{n}')",
    "try: x += {f}(n - 1)\n    finally: x += {g}(n - 2)",
    "_c('sleep', time.sleep, 0.0001)",
)
# Where there are no other threads: these are for all of them.
ALONE = (
    "allranks.trace_off(); _note('off', ''); x += {f}(n - 1); _note('on', ''); allranks.trace_on()",
    "with allranks.paused(): _note('pause', ''); x += quiet({n}); _note('resume', '')",
)
PRELUDE = '''\
import os
import time

import allranks

_all = []


def _note(kind, name, _keep=_all.append, _now=time.monotonic_ns):
    _keep((kind, name, threading.current_thread().name, _now()))


def _c(name, function, *args, **kwargs):
    _note("c+", name)
    try:
        return function(*args, **kwargs)
    finally:
        _note("c-", name)


def quiet(n):
    return 0 if n == 0 else quiet(n - 1)


@allranks.region("by_decorator")
def by_hand(n):
    _note("+", "by_hand")
    _note("-", "by_hand")
    return n


def decorated(n):
    _note("+", "decorated")
    _note("r+", "by_decorator")
    x = by_hand(n)
    _note("r-", "by_decorator")
    _note("-", "decorated")
    return x


@allranks.region
def itself(n):
    _note("+", "itself")
    x = n and itself(n - 1)
    _note("-", "itself")
    return x


def _save(path):
    import json

    with open(path, "w") as file:
        json.dump(_all, file)
'''
ENDING = """\
def _child(begin, path):
    pid = os.fork()
    if pid == 0:
        _note("fork", "")
        start(begin, {fuel})
        _save(path + "." + str(os.getpid()))
        os._exit(0)
    os.waitpid(pid, 0)


def _run(path, n_threads, n_children):
    threads = [threading.Thread(target=start, args=(begin, {fuel})) for begin in {begins}[:n_threads]]
    for thread in threads:
        thread.start()
    for begin in {begins}:
        start(begin, {fuel})
    for thread in threads:
        thread.join()
    for begin in {begins}[:n_children]:
        _child(begin, path)
    _save(path)


_run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
"""
# Functions in C, as they are called and as traces have them: as they are noted.
NAMES_OF_C = {"sorted": "sorted", "functools.reduce": "reduce"}
IN_TRACES = {"sorted": "sorted", "_functools.reduce": "reduce", "time.sleep": "sleep"}


# ---- rewriting -------------------------------------------------------------------------------------


def call(name: str, *words: str) -> ast.stmt:
    return ast.parse(f"{name}({', '.join(map(repr, words))})").body[0]


def is_note(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "note"


def noted_name(node: ast.stmt) -> str | None:
    """Of a statement `note("name")`."""
    if isinstance(node, ast.Expr) and is_note(node.value):
        return ast.literal_eval(node.value.args[0])  # type: ignore[attr-defined]
    return None


def yields(node: ast.stmt) -> bool:
    """By itself, not in a statement within."""
    inside = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
    return isinstance(inside, ast.Yield)


class Rewriting(ast.NodeTransformer):
    def __init__(self) -> None:
        self.function = ""

    def visit_FunctionDef(self, node: Any) -> Any:
        around, self.function = self.function, node.name
        says = any(noted_name(statement) == node.name for statement in ast.walk(node) if isinstance(statement, ast.stmt))
        if says:
            node.body = self.block(node.body)
            last = ast.Try(body=node.body, handlers=[], orelse=[], finalbody=[call("_note", "-", node.name)])
            node.body = [call("_note", "+", node.name), last]
        self.function = around
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Words about what runs on follow a yield; all others are gone."""
        done: list[ast.stmt] = []
        for i, statement in enumerate(body):
            if noted_name(statement) is not None or self.is_loop_of_notes(statement):
                continue
            if yields(statement):
                done += self.suspended(statement, body[i + 1 :])
            else:
                visited = self.visit(statement)
                done += visited if isinstance(visited, list) else [visited]
        return done or [ast.Pass()]

    def is_loop_of_notes(self, node: ast.stmt) -> bool:
        return isinstance(node, ast.For) and len(node.body) == 1 and isinstance(node.body[0], ast.Expr) and is_note(node.body[0].value)

    def suspended(self, statement: ast.stmt, rest: list[ast.stmt]) -> list[ast.stmt]:
        """All that are left with it: those that say so when it runs on."""
        if self.function == "suspend":
            before = ast.parse("_note('-', 'suspend')\nfor name in chain: _note('-', name)").body
            after = ast.parse("for name in reversed(chain): _note('+', name)\n_note('+', 'suspend')").body
        else:
            chain = [self.function]
            for follower in rest:
                name = noted_name(follower)
                if name and name != self.function:
                    chain.append(name)
                if name is None:
                    break
            before = [call("_note", "-", name) for name in chain]
            after = [call("_note", "+", name) for name in reversed(chain)]
        return [*before, ast.Try(body=[statement], handlers=[], orelse=[], finalbody=after)]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("body", "orelse", "finalbody"):
            if getattr(node, field, None) and isinstance(getattr(node, field), list) and not isinstance(node, ast.Module):
                setattr(node, field, self.block(getattr(node, field)))
        for handler in getattr(node, "handlers", ()):
            handler.body = self.block(handler.body)
        for name, value in ast.iter_fields(node):
            if name in ("body", "orelse", "finalbody", "handlers") and isinstance(value, list):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self.replace(node, name, child, self.visit(child))
        return node

    def replace(self, node: ast.AST, name: str, old: ast.AST, new: Any) -> None:
        value = getattr(node, name)
        if isinstance(value, list):
            value[value.index(old)] = new
        else:
            setattr(node, name, new)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = NAMES_OF_C.get(ast.unparse(node.func))
        if name:
            first: list[ast.expr] = [ast.Constant(name), node.func]
            return ast.Call(ast.Name("_c", ast.Load()), first + node.args, node.keywords)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """`note("<lambda>") or …`"""
        self.generic_visit(node)
        return node.values[1] if is_note(node.values[0]) else node


def rewritten_exec(text: str) -> str:
    """What exec compiles notes both ends, too."""
    return re.sub(
        r"note\('(made_by_exec_\d)'\)\\n return n",
        r"_note('+', '\1')\\n try: return n\\n finally: _note('-', '\1')", text
    )  # fmt: skip


def write_traced(seed: int, is_alone: bool) -> str:
    """PROGRAM NOTES N_THREADS N_CHILDREN"""
    source = write_program(seed, STATEMENTS + (ALONE if is_alone else ()), TRACED_FUEL)
    source, _, ending = source.partition("def main(n_threads, begins)")
    begins = ending.partition("[:n_threads]")[2].partition("main(int(sys.argv[2]), ")[2].partition(")")[0]
    tree = ast.parse(rewritten_exec(source))
    rewriting = Rewriting()
    tree.body = [rewriting.visit(statement) for statement in tree.body]
    text = ast.unparse(ast.fix_missing_locations(tree))
    head, _, rest = text.partition("notes = []")
    return f"# Random program {seed}\n{head}\n{PRELUDE}\n\nnotes = []{rest}\n\n\n" + ENDING.replace("{begins}", begins).replace("{fuel}", str(TRACED_FUEL))


# ---- what it noted ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Note:
    kind: str
    name: str
    thread: str
    ns: int


def by_thread(notes: list[list[Any]]) -> dict[str, list[Note]]:
    threads: dict[str, list[Note]] = {}
    for each in notes:
        note = Note(*each)
        threads.setdefault(note.thread, []).append(note)
    return threads
