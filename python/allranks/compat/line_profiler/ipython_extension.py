# SPDX-License-Identifier: BSD-3-Clause
"""%load_ext line_profiler, then %lprun -f function statement, and %%lprun_all for a cell."""

from __future__ import annotations

import ast
import io
import sys
import types
from typing import Any

OPTIONS = "rszf:m:D:T:u:"


def load_ipython_extension(ip: Any) -> None:
    from IPython.core.magic import Magics, cell_magic, line_magic, magics_class  # type: ignore[import-not-found,unused-ignore]

    class LineProfilerMagics(Magics):  # type: ignore[untyped-decorator,misc,unused-ignore]
        """The magics of line_profiler."""

        @line_magic  # type: ignore[untyped-decorator,misc,unused-ignore]
        def lprun(self, parameter_s: str = "") -> Any:
            """%lprun -f FUNCTION [-m MODULE] [-D FILE.lprof] [-T FILE.txt] [-r] [-s] [-z] [-u SECONDS] STATEMENT

            Run a statement and show what the lines of functions took. -f and -m may be given several times; -D writes a
            .lprof file, -T the text; -r returns the profiler, -s leaves out functions that did not run, -u is the unit.
            """
            options, statement = self.parse_options(parameter_s, OPTIONS, list_all=True)
            return run(self.shell, options, statement, [])

        @cell_magic  # type: ignore[untyped-decorator,misc,unused-ignore]
        def lprun_all(self, line: str, cell: str = "") -> Any:
            """%%lprun_all [options of %lprun]: the lines of the cell itself, and of functions that it defines."""
            options, _ = self.parse_options(line, OPTIONS, list_all=True)
            return run(self.shell, options, cell, None)

    ip.register_magics(magics_class(LineProfilerMagics))


def run(shell: Any, options: Any, statement: str, functions: list[Any] | None) -> Any:
    from allranks.compat.line_profiler.line_profiler import LineProfiler

    profiler = LineProfiler()
    names = shell.user_ns
    for text in options.get("f", []):
        profiler.add_callable(eval(text, shell.user_global_ns, names))
    for text in options.get("m", []):
        __import__(text)
        profiler.add_module(sys.modules[text])
    code = cell_code(profiler, statement) if functions is None else compile(statement, "<lprun>", "exec")
    try:
        profiler.runcall(exec, code, shell.user_global_ns, names)
    except (SystemExit, KeyboardInterrupt) as error:
        print(f"The statement ended by {type(error).__name__}.")
    return show(profiler, options)


def cell_code(profiler: Any, statement: str) -> types.CodeType:
    """The cell under a name that linecache knows, and all code in it chosen."""
    import linecache

    name = f"<lprun_all {hash(statement) & 0xFFFFFFFF:08x}>"
    linecache.cache[name] = (len(statement), None, statement.splitlines(True), name)
    code = compile(ast.parse(statement, name), name, "exec")
    choose_all(profiler, code)
    return code


def choose_all(profiler: Any, code: types.CodeType) -> None:
    profiler.add_function(types.FunctionType(code, {}))
    for each in code.co_consts:
        if isinstance(each, types.CodeType) and not each.co_freevars:
            choose_all(profiler, each)


def show(profiler: Any, options: Any) -> Any:
    stream = io.StringIO()
    unit = float(options["u"][-1]) if "u" in options else None
    profiler.print_stats(stream, output_unit=unit, stripzeros="s" in options or "z" in options)
    print(stream.getvalue(), end="")
    if "D" in options:
        profiler.dump_stats(options["D"][-1])
    if "T" in options:
        with open(options["T"][-1], "w", encoding="utf-8") as file:
            file.write(stream.getvalue())
    return profiler if "r" in options else None
