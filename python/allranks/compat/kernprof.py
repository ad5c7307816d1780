# SPDX-License-Identifier: BSD-3-Clause
"""A drop-in for kernprof. See docs/line-profiler.md.

    kernprof -l script.py          script.py.lprof: lines of functions with @profile; and script.allranks, the recording
    kernprof script.py             script.py.prof: functions, as cProfile writes them
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # what runs a program brings no modules along
if TYPE_CHECKING:
    from allranks._launch import Options

__version__ = "5.1.0"  # of line_profiler: programs may ask for it
__all__ = ["__version__", "main"]

USAGE = """\
usage: kernprof [-h] [-V] [-l] [-b] [-s SETUP] [-p PROF_MOD] [-o OUTFILE]
                [-v] [-q] [-r] [-u UNIT] [-z] [-i [SECONDS]]
                {SCRIPT | -m MODULE | -c CODE | -} [arguments]
"""
HELP = """
Run a Python program and write what its functions, or lines of them, took:

    kernprof -l script.py                    lines of functions with @profile
    python -m line_profiler script.py.lprof

It is allranks that records: under MPI each rank has a file, script.py.lprof0
and so on, and script.allranks has all ranks with their call paths. Without
shims, `python -m allranks.compat.kernprof` is the same.

options:
  -l, --line-by-line       count lines; without it, calls as cProfile
  -b, --builtin            without -l: count only what the program enables,
                           by the builtin `profile`
  -s, --setup FILE         run this file first
  -p, --prof-mod NAMES     with -l: functions, classes, modules or files whose
                           lines are counted as well, separated by commas
  -o, --outfile FILE       (default: SCRIPT.lprof, or SCRIPT.prof). Other ranks
                           append their number, or stand for {rank} in it
  -v, --verbose, --view    also print the results
  -q, --quiet              do not print where they are; twice: nothing of the
                           program either; three times: nor on standard error
  -r, --rich  -u, --unit SECONDS  -z, --skip-zero  --summarize
                           how they are printed
  -V, --version            show the version
  -h, --help               show this help

without effect:
  -i, --output-interval    what was counted so far is never lost: allranks recover
  --preimports, --prof-imports, --config FILE, --no-config
"""

FLAGS = {
    "-l": "line-by-line", "-b": "builtin", "-v": "verbose", "-q": "quiet", "-r": "rich", "-z": "skip-zero", "-h": "help", "-V": "version",
}  # fmt: skip
LONG_FLAGS = (*FLAGS.values(), "view", "summarize", "preimports", "prof-imports", "no-config")
VALUES = {"-s": "setup", "-p": "prof-mod", "-o": "outfile", "-u": "unit"}
LONG_VALUES = (*VALUES.values(), "config")
TRUE, FALSE = ("y", "yes", "t", "true", "on", "1"), ("n", "no", "f", "false", "off", "0")


class Request:
    """What the command line asks for."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}  # how often a flag was given
        self.values: dict[str, str] = {}
        self.kind = "script"
        self.target = ""
        self.arguments: list[str] = []

    def has(self, flag: str) -> bool:
        return self.counts.get(flag, 0) > 0

    def add_flag(self, name: str, on: bool = True) -> None:
        name = "verbose" if name == "view" else name
        self.counts[name] = self.counts.get(name, 0) + 1 if on else 0

    def add_value(self, name: str, value: str) -> None:
        if name == "prof-mod" and value and self.values.get(name):
            value = f"{self.values[name]},{value}"
        self.values[name] = value


class Misuse(Exception):
    """A command line that cannot be understood; the text says why."""


# ---- the command line ----


def take(rest: list[str], word: str) -> str:
    if not rest:
        raise Misuse(f"argument {word}: expected one argument")
    return rest.pop(0)


def parse_long(request: Request, word: str, rest: list[str]) -> None:
    said, equals, value = word[2:].partition("=")
    if said in LONG_FLAGS:
        if value and value.lower() not in TRUE + FALSE:
            raise Misuse(f"argument --{said}: not one of yes, no: {value}")
        request.add_flag(said, not value or value.lower() in TRUE)
    elif said.startswith("no-") and said[3:] in LONG_FLAGS:
        request.add_flag(said[3:], False)
    elif said in LONG_VALUES:
        request.add_value(said, value if equals else take(rest, word))
    elif said == "output-interval":
        skip_number(rest)
    else:
        raise Misuse(f"unrecognized arguments: {word}")


def skip_number(rest: list[str]) -> None:
    """-i may stand alone."""
    if rest and rest[0].isdigit():
        rest.pop(0)


def parse_short(request: Request, word: str, rest: list[str]) -> None:
    """Several letters may stand together; the value of one is what follows it, or the next word."""
    for i, letter in enumerate(word[1:], 1):
        option, behind = f"-{letter}", word[i + 1 :]
        if option in FLAGS:
            request.add_flag(FLAGS[option])
        elif option in VALUES:
            request.add_value(VALUES[option], behind or take(rest, option))
            return
        elif option in ("-m", "-c"):
            request.kind = "module" if option == "-m" else "code"
            request.target = behind or take(rest, option)
            return
        elif option == "-i":
            if not behind:
                skip_number(rest)
            return
        else:
            raise Misuse(f"unrecognized arguments: {word}")


def parse(argv: list[str]) -> Request:
    request = Request()
    rest = list(argv)
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--") and not request.target:
        word = rest.pop(0)
        (parse_long if word.startswith("--") else parse_short)(request, word, rest)
    if rest[:1] == ["--"] and not request.target:
        del rest[0]
    if not request.target and rest:
        request.target = rest.pop(0)
    request.arguments = rest
    if not request.target and not request.has("help") and not request.has("version"):
        raise Misuse("the following arguments are required: SCRIPT, -m MODULE or -c CODE")
    return request


def unit_of(request: Request) -> float:
    try:
        return float(request.values.get("unit", "1e-6"))
    except ValueError:
        raise Misuse(f"argument -u/--unit: invalid float value: {request.values['unit']!r}") from None


# ---- what is recorded ----


def name_of_program(request: Request) -> str:
    if request.kind == "script" and request.target != "-":
        return os.path.basename(request.target)
    if request.kind == "module":
        return request.target
    return f"kernprof-{'command' if request.kind == 'code' else 'stdin'}-{os.urandom(4).hex()}"


def patterns(request: Request) -> tuple[str, ...]:
    """Of --prof-mod, as --lines has them."""
    found = []
    for name in filter(None, request.values.get("prof-mod", "").split(",")):
        if os.path.exists(name):
            path = os.path.abspath(name)
            found.append(os.path.join(path, "*") if os.path.isdir(path) else path)
        else:
            name = name[: -len(".__init__")] if name.endswith(".__init__") else name
            found += [name, f"{name}.*"]
    return tuple(found)


def is_script_of_that_name() -> bool:
    """Run as `kernprof.py` or `python kernprof.py`: there are recipes that call the file without .py."""
    main_module = sys.modules["__main__"]
    return getattr(main_module, "__spec__", None) is None and os.path.basename(sys.argv[0]) == "kernprof.py"


def suffix_of_rank() -> str:
    from allranks.compat import has_other_ranks, rank_of_this_process

    return rank_of_this_process() if has_other_ranks() else ""


def file_of_rank(outfile: str) -> str:
    suffix = suffix_of_rank()
    return outfile.replace("{rank}", suffix) if "{rank}" in outfile else outfile + suffix


def after_run(request: Request, form: str, outfile: str, alias: str = "") -> tuple[str, ...]:
    """The command that makes the file of the run, and prints what kernprof prints: see _after_kernprof.py."""
    from allranks._launch import command_path

    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_after_kernprof.py")
    flags = [name for name in ("verbose", "quiet", "rich", "skip-zero", "summarize") if request.has(name)]
    return (
        sys.executable, "-I", "-S", script, command_path(), os.getcwd(), viewer_module(), form, outfile, alias,
        repr(unit_of(request)), ",".join(flags),
    )  # fmt: skip


def viewer_module() -> str:
    from allranks.compat import is_importable

    return "line_profiler" if is_importable("line_profiler") else "allranks.compat.line_profiler"


def count_lines(request: Request, options: Options) -> None:
    from allranks._launch import with_braces

    program = name_of_program(request)
    outfile = request.values.get("outfile") or f"{program}.lprof"
    is_alias = is_script_of_that_name() and "outfile" not in request.values and program.endswith(".py")
    options.values["as"] = ("line_profiler",)
    options.values["lines"] = patterns(request)
    options.lprof_file = file_of_rank(outfile)
    options.after_run = after_run(request, "lprof", outfile, f"{program[:-3]}.lprof" if is_alias else "")
    if "outfile" in request.values:
        options.values["output"] = with_braces(outfile.replace("{rank}", "").removesuffix(".lprof")) + ".allranks"


def count_calls(request: Request, options: Options) -> None:
    """As cProfile does: each rank by itself, and no run file is left."""
    from allranks._launch import with_braces

    outfile = file_of_rank(request.values.get("outfile") or f"{name_of_program(request)}.prof")
    options.values.update({"per-rank": True, "builtins": "all", "output": with_braces(outfile) + ".allranks"})
    options.after_run = after_run(request, "pstats", outfile)


def count_on_demand(request: Request, options: Options) -> None:
    """Nothing is recorded. The builtin `profile` counts what the program enables."""
    from allranks.compat._contextual_profile import ContextualProfile

    outfile = file_of_rank(request.values.get("outfile") or f"{name_of_program(request)}.prof")
    target = os.path.join(os.getcwd(), outfile)
    profile = ContextualProfile()
    sys.modules["builtins"].__dict__["profile"] = profile
    options.is_recorded = False
    command = after_run(request, "dumped", outfile)

    def dump() -> None:
        profile.dump_stats(target)
        sys.stdout.flush()
        os.waitpid(os.posix_spawn(command[0], [*command, target], os.environ), 0)

    import atexit

    atexit.register(dump)


def run_setup(path: str) -> None:
    """Before the recording starts."""
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    exec(code, {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__})


def be_silent(n_quiet: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2)[: max(n_quiet - 1, 0)]:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def options_for(request: Request) -> Options:
    from allranks import _launch

    options = _launch.Options()
    _launch.set_from_environment(options.values)
    options.kind, options.target, options.arguments = request.kind, request.target, request.arguments
    options.values["quiet"] = True
    if request.has("line-by-line"):
        count_lines(request, options)
    elif request.has("builtin"):
        count_on_demand(request, options)
    else:
        count_calls(request, options)
    _launch.check_values(options.values)
    if "setup" in request.values:
        options.before = lambda: run_setup(request.values["setup"])
    return options


def check_files(request: Request) -> None:
    from allranks._launch import find_command

    files = [request.target] if request.kind == "script" and request.target != "-" else []
    for name in [*files, *filter(None, [request.values.get("setup")])]:
        if not os.path.exists(name) and not find_command(name):
            sys.stderr.write(f"Could not find script {name!r}\n")
            sys.exit(1)


def main() -> None:
    from allranks import _launch

    try:
        request = parse(sys.argv[1:])
        unit_of(request)
    except Misuse as misuse:
        sys.stderr.write(f"{USAGE}kernprof: error: {misuse}\n")
        sys.exit(2)
    if request.has("help") or request.has("version"):
        _launch.answer(USAGE + HELP if request.has("help") else f"{__version__}\n")
        return
    check_files(request)
    try:
        options = options_for(request)
    except _launch.UsageError as error:
        _launch.complain(str(error))
        sys.exit(2)
    be_silent(request.counts.get("quiet", 0))
    _launch.run_with(options)


if __name__ == "__main__":
    main()
