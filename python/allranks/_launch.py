# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program as the interpreter itself would, and records it.

Everything here happens in the user's process before the first line of the program, so it imports next to nothing, and what
it leaves behind (sys.argv, sys.path, __main__, the stack) is what the program finds without allranks.
"""

import os
import sys

from allranks import __version__

trouble = ""  # why nothing can be recorded
try:
    from allranks import _runtime
except ImportError as error:  # not built for this Python
    trouble = str(error)

# Neither typing nor __future__: they would be further files to open on every rank, and modules that the program may have
# its own of. So what they would be needed for stands in quotes.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

USAGE_HEAD = """\
usage: allranks run [options] [--] SCRIPT [arguments]      a file, or a command on PATH
       allranks run [options] -m MODULE [arguments]
       allranks run [options] -c CODE [arguments]
       python -m allranks ...                  the same

Record a Python program, alone or on every rank of an MPI job:

    mpiexec -n 64 python -m allranks heat.py --steps 1000
    allranks report heat.allranks

options:
"""
USAGE_TAIL = """\
      --version        show the version
  -h, --help           show this help
"""

# `install-shims` is done here, what is in C by the command.
COMMANDS = ("report", "lines", "mpi", "waits", "ranks", "diff", "scale", "where", "top", "info", "trace", "dump", "timeline", "counters", "export", "merge", "recover", "clean")
BUILTINS = ("none", "counted", "all")
FORMER_NAMES = {"costly": "counted"}
CALIBRATION_CALLS = 200
OUTPUT_WORDS = ("rank", "host", "pid", "job")
PSTATS_ENDINGS = (".pstats", ".prof", ".dat", ".out")  # in src/export/exporters.c as well


class UsageError(Exception):
    """A command line that cannot be understood; the text says why."""


def read_text(name: str, text: str) -> str:
    return text


def read_directory(name: str, text: str) -> str:
    if not text:
        raise UsageError(f"{name} needs a directory")
    return text


def read_size(name: str, text: str) -> int:
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper(), 1)
    digits = text[:-1] if factor > 1 else text
    if not digits.isdigit() or not 1 << 20 <= int(digits) * factor <= 1 << 38:
        raise UsageError(f"{name} {text}: not a size from 1M to 256G, such as 64M")
    return int(digits) * factor


def read_share(name: str, text: str) -> float:
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise UsageError(f"{name} {text}: not a share of the time, such as 2% or 0.02")
    return share


def read_span(name: str, text: str) -> float:
    units = ("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("min", 60.0), ("s", 1.0), ("h", 3600.0), ("", 1.0)
    unit, seconds = next(each for each in units if text.endswith(each[0]))
    try:
        span = float(text.removesuffix(unit)) * seconds
    except ValueError:
        span = 0.0
    if not 0 < span <= 1e7:
        raise UsageError(f"{name} {text}: not a time, such as 60s, 5ms or 10us")
    return span


def read_depth(name: str, text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1000000:
        raise UsageError(f"{name} {text}: not a number of calls from 1 to 1000000")
    return int(text)


def read_timeout(name: str, text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 86400:
        raise UsageError(f"{name} {text}: not a number of seconds from 1 to 86400")
    return int(text)


def read_builtins(name: str, text: str) -> str:
    text = FORMER_NAMES.get(text, text)
    if text not in BUILTINS:
        raise UsageError(f"{name} {text}: not one of {', '.join(BUILTINS)}")
    return text


def read_drop_in(name: str, text: str) -> str:
    from allranks.compat import DROP_INS

    if text not in DROP_INS:
        raise UsageError(f"{name} {text}: not one of {', '.join(DROP_INS)}")
    return text


def read_counters(name: str, text: str) -> str:
    """As they are: whether they can be counted depends on other options, see check_counters."""
    if not text.strip(","):
        raise UsageError(f"{name} needs names, such as page-faults (try: allranks counters)")
    return text


def read_output(name: str, text: str) -> str:
    for piece in text.replace("{{", "").replace("}}", "").split("{")[1:]:
        word, closed, _ = piece.partition("}")
        if not closed or word not in OUTPUT_WORDS:
            known = ", ".join(f"{{{each}}}" for each in OUTPUT_WORDS)
            raise UsageError(f"-o {text}: {{{word}{closed} is not one of {known} (a brace is written twice)")
    check_ending(text)
    return text


def read_rule(name: str, text: str) -> str:
    if text[:2] not in ("-r", "+r", "-f", "+f") or len(text) < 3 or "\n" in text:
        raise UsageError(f"{name} {text}: not a rule, such as -rnumpy* or +f*/solver.py")
    return text


def check_ending(name: str) -> None:
    """A run file under the name of another format would be refused by the tool that is to read it, after the run.

    {rank}, numbers and other words after a dot, as in `heat.4` and `heat.np-4`, are no suffix.
    """
    stem, ending = os.path.splitext(name)
    is_suffix = ending[1:].isalnum() and ending[1].isalpha()
    if is_suffix and ending != ".allranks" and ending not in PSTATS_ENDINGS:
        raise UsageError(
            f"-o {name}: a recording ends in .allranks, or for pstats in {', '.join(PSTATS_ENDINGS)} "
            f"(record it with -o {stem}.allranks, then: allranks export {stem}.allranks -f FORMAT -o {name})"
        )


def with_braces(name: str) -> str:
    """A name that is to stay as it is."""
    return name.replace("{", "{{").replace("}", "}}")


# ---- options ----

# Of `allranks run`. Parser, help, the lines for children and what the runtime is told all follow from this table. It is made
# of constants alone, so that it costs nothing to build.
#
#   name      without dashes; in src/runtime/recording_options.c as well
#   default   of False a flag is made; an option whose default is () may be given several times
#   kind      how its text is read, see READERS
#   reach     who is told: the runtime, children (Pythons that the program starts); else the launcher alone
#   variable  of the environment, with another default
#   letter, value, help: as the help shows them
OPTIONS = (
    ("output", "", "output", "runtime children", "", "-o", "FILE", """\
the file to write (default: SCRIPT.allranks in the
current directory); an existing one is not overwritten,
FILE-2 is written instead. {rank}, {host}, {pid} and
{job} in it are filled in; a brace is written twice"""),
    ("per-rank", False, "flag", "runtime children", "", "", "", """\
a file for each rank, SCRIPT.0.allranks and so on, which
are not merged; {rank} in FILE asks for the same. If FILE
ends in .pstats, .prof, .dat or .out, each is a file that
pstats reads"""),
    ("no-merge", False, "flag", "runtime children", "", "", "", """\
do not merge the ranks in MPI_Finalize: their live files
are left in the directory SCRIPT.live beside the output,
for `allranks merge`"""),
    ("merge-timeout", 300, "timeout", "runtime", "ALLRANKS_MERGE_TIMEOUT", "", "SECONDS", """\
how long ranks wait in MPI_Finalize for one that does not
come before they leave their live files unmerged (default:
$ALLRANKS_MERGE_TIMEOUT, or 300)"""),
    ("quiet", False, "flag", "runtime children", "", "-q", "", """\
no closing line on standard error"""),
    ("live-dir", "", "directory", "runtime", "ALLRANKS_LIVE_DIR", "", "DIR", """\
where each process keeps its live file while it runs
(default: $ALLRANKS_LIVE_DIR, or /dev/shm/allranks-UID,
or the same below $TMPDIR or /tmp). Best in memory;
what was recorded by a killed process stays there"""),
    ("max-size", 256 << 20, "size", "runtime children", "", "", "SIZE", """\
limit of a live file, such as 64M (default: 256M); when
it is full, new call paths count for their caller"""),
    ("builtins", "counted", "builtins", "runtime children", "", "", "WHICH", """\
functions in C: `counted` counts every call, times what
is not cheap exactly and the rest now and then, marked
with ~ (default); `all` counts what cProfile counts,
len, isinstance, append and the inside of the import
system included; `none` leaves them out"""),
    ("exact", False, "flag", "runtime children", "", "", "", """\
time every call of a function in C, cheap or not"""),
    ("budget", 0.0, "share", "runtime children", "", "", "SHARE", """\
such as 2%: functions that prove cheap and frequent are
timed no more when recording takes more than that"""),
    ("include", (), "text", "runtime children", "", "", "GLOB", """\
record only functions whose module, file or qualified
name matches; may be given several times"""),
    ("exclude", (), "text", "runtime children", "", "", "GLOB", """\
do not record those that match; their time is their
caller's"""),
    ("filter-file", (), "text", "", "", "", "FILE", """\
record what a filter file of Score-P leaves: names are
module:function, module.Class:function and user:region;
may be given several times"""),
    ("filter-rule", (), "rule", "runtime children", "", "", "RULE", """\
one more rule, after those of files: -r or +r and a
pattern leaves names out or in, -f or +f source files; the
last one that matches holds"""),
    ("no-import", False, "flag", "runtime children", "", "", "", """\
with `--builtins all`: of imports record the modules, not
the inside of the import system"""),
    ("counters", "", "counters", "runtime children", "", "", "NAMES", """\
what the machine counts in every region, on each thread:
such as page-faults,instructions (`allranks counters`
lists what there is here)"""),
    ("counters-at", (), "text", "runtime children", "", "", "GLOB", """\
count in these functions, too; patterns as --include has
them; may be given several times"""),
    ("counters-everywhere", False, "flag", "runtime children", "", "", "", """\
count in every call path, where a read takes so little
that it can be done at every call"""),
    ("counters-optional", False, "flag", "runtime children", "", "", "", """\
leave out what cannot be counted here, instead of not
running the program"""),
    ("petsc-log", False, "flag", "runtime children", "", "", "", """\
switch PETSc's logging on, whose stages and events are
regions then. Without it they are recorded if the program
does so itself, as with PETSc's option -log_view"""),
    ("trace", False, "flag", "runtime children", "", "", "", """\
record every call with its time as well, in the order in
which they happen (then: allranks timeline, dump, and
export to OTF2, Perfetto …)"""),
    ("trace-later", False, "flag", "runtime children", "", "", "", """\
make room for a trace, which the program switches on
(allranks.trace_on) or you do (allranks trace on DIR)"""),
    ("trace-limit", 1 << 30, "size", "runtime children", "", "", "SIZE", """\
of the trace of a process, such as 100M (default: 1G);
when it is full, the profile goes on without it"""),
    ("trace-last", 0.0, "span", "runtime children", "", "", "TIME", """\
keep the last seconds of the trace only, such as 60s: for
a program that hangs or crashes after hours"""),
    ("trace-min", 0.0, "span", "runtime children", "", "", "TIME", """\
leave calls out of the trace that take less, such as 10us;
MPI calls stay"""),
    ("trace-at", (), "text", "runtime children", "", "", "GLOB", """\
trace only while such a function or region runs; patterns
as --include has them; may be given several times"""),
    ("trace-depth", 0, "depth", "runtime children", "", "", "N", """\
leave calls out of the trace that are deeper in the stack"""),
    ("lines", (), "text", "runtime children", "", "", "GLOB", """\
count each line of these functions, and how long it takes
(then: allranks lines); patterns as --include has them,
such as 'solver.py:*'; may be given several times. `auto`
takes the ten functions with most time of the last run of
this name, auto:RUN of that run"""),
    ("functions-later", False, "flag", "children", "", "", "", """\
record regions and MPI calls only, until the program asks
for functions, too (allranks.functions_on)"""),
    ("no-children", False, "flag", "", "", "", "", """\
record this process only, not Pythons that it starts"""),
    ("as", (), "drop-in", "children", "", "", "NAME", """\
let `import NAME` in the program find allranks in place of
another profiler, whether that is installed or not:
mpiprof, pyperfdump, scorep, kernprof, line_profiler
(which also counts lines of functions with @profile).
Of pyop2, where it is installed, only timers that it
lacks are added. May be given several times"""),
)  # fmt: skip
READERS = {
    "output": read_output,
    "directory": read_directory,
    "text": read_text,
    "size": read_size,
    "share": read_share,
    "timeout": read_timeout,
    "builtins": read_builtins,
    "drop-in": read_drop_in,
    "counters": read_counters,
    "span": read_span,
    "depth": read_depth,
    "rule": read_rule,
}
HELP_COLUMN = 23


class Options:
    """What `allranks run` was asked to do."""

    values: "dict[str, Any]"  # of OPTIONS, by name
    pstats_file = ""  # what each process makes in place of a run file; one that is there is replaced
    lprof_file = ""  # what each process leaves besides its live file when SIGTERM ends it
    is_recorded = True  # False: the program only runs
    after_run: "tuple[str, ...]" = ()  # a command that the process which writes the run file starts, with its path
    before: "Callable[[], None] | None" = None  # just before the recording starts
    kind = "script"  # or "module", "code", "package": a directory or archive
    target = ""
    arguments: "list[str]"
    facts: "dict[str, str]"  # further ones, for `info`

    def __init__(self) -> None:
        self.facts = {}
        self.values = {option[0]: option[1] for option in OPTIONS}


def usage() -> str:
    text = USAGE_HEAD
    for name, _, _, _, _, letter, value, help in OPTIONS:
        start = f"  {letter and letter + ',':3} --{name} {value}".rstrip().ljust(HELP_COLUMN)
        text += start if start.endswith(" ") else f"{start}\n{'':{HELP_COLUMN}}"
        text += help.replace("\n", f"\n{'':{HELP_COLUMN}}") + "\n"
    return text + USAGE_TAIL


def set_value(values: "dict[str, Any]", name: str, kind: str, said: str, text: str) -> None:
    """As an option says, or a variable of the environment; `said` is what messages call it."""
    if kind == "flag":
        values[name] = True
        return
    value = READERS[kind](said, text)
    if kind == "counters" and values[name]:
        value = f"{values[name]},{value}"
    values[name] = (*values[name], value) if isinstance(values[name], tuple) else value


def set_from_environment(values: "dict[str, Any]") -> None:
    for name, _, kind, _, variable, _, _, _ in OPTIONS:
        if variable and os.environ.get(variable):
            set_value(values, name, kind, variable, os.environ[variable])


def parse_option(values: "dict[str, Any]", word: str, rest: "list[str]") -> None:
    said, equals, text = word.partition("=")
    found = [(name, kind) for name, _, kind, _, _, letter, _, _ in OPTIONS if said in (f"--{name}", letter)]
    if not found:
        raise UsageError(f"unknown option {said} (options of the program come after it)")
    name, kind = found[0]
    if kind == "flag" and equals:
        raise UsageError(f"{said} takes no value")
    if kind != "flag" and not equals:
        if not rest:
            raise UsageError(f"{said} needs a value")
        text = rest.pop(0)
    set_value(values, name, kind, said, text)


def parse(argv: "list[str]") -> Options:
    options = Options()
    values = options.values
    set_from_environment(values)
    rest = list(argv)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        said = word.partition("=")[0]
        if said == "--":
            break
        if said in ("-m", "-c"):
            if not rest:
                raise UsageError(f"{said} needs {'a module' if said == '-m' else 'code'}")
            options.kind = "module" if said == "-m" else "code"
            break
        parse_option(values, word, rest)
    if values["exact"] and values["budget"]:
        raise UsageError("--exact times every call, --budget stops timing some: give one of the two")
    if not rest:
        raise UsageError("no program to run (try: allranks run --help)")
    options.target = rest[0]
    options.arguments = rest[1:]
    return options


def read_filters(values: "dict[str, Any]") -> None:
    """Children are told the rules: they may run where the files are not found."""
    if not values["filter-file"]:
        return
    from allranks._filter_file import FilterError, read_rules

    try:
        rules = [rule for path in values["filter-file"] for rule in read_rules(path)]
    except FilterError as error:
        raise UsageError(f"--filter-file {error}") from None
    values["filter-rule"] = (*rules, *values["filter-rule"])


def check_trace(values: "dict[str, Any]") -> None:
    for name in ("trace-last", "trace-min", "trace-depth", "trace-at"):
        if values[name] and not values["trace"] and not values["trace-later"]:
            raise UsageError(f"--{name} is about a trace: give --trace, too")
    if (values["trace"] or values["trace-later"]) and os.path.splitext(values["output"] or "")[1] in PSTATS_ENDINGS:
        stem = os.path.splitext(values["output"])[0]
        raise UsageError(f"-o {values['output']}: a pstats file has no place for a trace (try: -o {stem}.allranks)")


def check_counters(values: "dict[str, Any]") -> None:
    """A program that runs for hours is not to be found without its counters at the end."""
    where = next((name for name in ("counters-at", "counters-everywhere") if values[name]), "")
    if where and not values["counters"]:
        raise UsageError(f"--{where} says where to count; what is to be counted, say with --counters")
    if not values["counters"] or trouble:
        return
    if os.path.splitext(values["output"] or "")[1] in PSTATS_ENDINGS:
        raise UsageError(f"-o {values['output']}: a pstats file has no place for counters (try: -o {os.path.splitext(values['output'])[0]}.allranks)")
    names, is_optional = os.fsencode(values["counters"]), values["counters-optional"]
    try:
        if not is_optional:
            _runtime.check_counters(names, False, False)
    except ValueError as error:
        raise UsageError(f"--counters {values['counters']}: {error}; --counters-optional runs without it") from None
    try:
        if values["counters-everywhere"]:
            _runtime.check_counters(names, is_optional, True)
    except ValueError as error:
        raise UsageError(f"--counters-everywhere: {values['counters']}: {error}") from None


def lines_for_children(values: "dict[str, Any]") -> bytes:
    """What `parse` makes the same values of, a line each."""
    lines = []
    for name, default, kind, reach, _, _, _, _ in OPTIONS:
        value = values[name]
        if value == default or "children" not in reach:
            continue
        if kind == "flag":
            lines.append(f"--{name}")
        else:
            lines += [f"--{name}={each}" for each in (value if isinstance(value, tuple) else (value,))]
    return os.fsencode("\n".join(lines))


def settings_for_runtime(values: "dict[str, Any]") -> "dict[str, object]":
    """Those that it is told, with bytes for every str."""
    settings = {}
    for name, _, _, reach, _, _, _, _ in OPTIONS:
        value = values[name]
        if isinstance(value, str):
            value = os.fsencode(value)
        elif isinstance(value, tuple):
            value = tuple(map(os.fsencode, value))
        if "runtime" in reach:
            settings[name] = value
    return settings


# ---- the program ----


def default_output(options: Options) -> str:
    if options.kind == "code":
        stem = "command"
    elif options.kind == "module":
        stem = options.target
    elif options.target == "-":
        stem = "stdin"
    else:
        stem = os.path.splitext(os.path.basename(options.target.rstrip("/")))[0]
    return with_braces(stem) + ".allranks"


def become_main(options: Options) -> None:
    """Puts a fresh __main__ module, sys.argv and sys.path in place, as the interpreter does."""
    main_module = type(sys)("__main__")
    main_module.__dict__.update(
        __builtins__=sys.modules["builtins"],
        __loader__=sys.modules["_frozen_importlib"].BuiltinImporter,
    )
    if sys.version_info < (3, 14):  # later ones evaluate annotations when they are asked for
        main_module.__annotations__ = {}
    sys.modules["__main__"] = main_module

    first = {"module": "-m", "code": "-c"}.get(options.kind, options.target)
    sys.argv[:] = [first, *options.arguments]
    if options.kind == "package":
        sys.path[: not has_safe_path()] = [os.path.join(current_directory(), options.target)]
    elif not has_safe_path():
        sys.path[0] = first_path(options)


def first_path(options: Options) -> str:
    if options.kind == "module":
        return sys.path[0] or current_directory()  # `python -m` has put it there
    in_file = options.kind == "script" and options.target != "-"
    return os.path.dirname(os.path.realpath(options.target)) if in_file else ""


def has_safe_path() -> bool:
    return bool(getattr(sys.flags, "safe_path", False) or sys.flags.isolated)


def is_package(path: str) -> bool:
    """A directory or archive with a __main__ in it is run as a module."""
    for hook in sys.path_hooks:
        try:
            hook(path)
        except ImportError:
            continue
        return True
    return False


def at_exit(ending: str, pstats_file: str, quiet: bool) -> None:
    """The last of Python's exit functions: the program's own, registered later, have run."""
    for name in ("mpi4py", "numpy", "petsc4py", "h5py"):
        module = sys.modules.get(name)
        # As it is: a module of the program may make its attributes when they are asked for.
        version = module.__dict__.get("__version__") if type(module) is type(os) else None
        if type(version) is str:
            _runtime.fact(name, os.fsencode(version))
    written = _runtime.finish(bool(ending or pstats_file))
    if written and pstats_file:
        replace_by_pstats(os.fsdecode(written[0]), pstats_file)
    elif written and ending:
        become_pstats(os.fsdecode(written[0]), ending, written[1] and not quiet)
    elif written and is_interrupted():
        flush_output()
        _runtime.after_run()


def is_interrupted() -> bool:
    """Then the interpreter ends by SIGINT, and exit functions in C do not run."""
    kind = getattr(sys, "last_type", None)
    return isinstance(kind, type) and issubclass(kind, KeyboardInterrupt) and not sys.flags.inspect


def flush_output() -> None:
    try:
        sys.stdout.flush()
    except (AttributeError, OSError, ValueError):  # the interpreter says so itself, later
        pass


at_exit_arguments: "tuple[Any, ...]" = ()


def finish_now() -> None:
    """As at the end of the program, which goes on without being recorded."""
    import atexit

    atexit.unregister(at_exit)
    at_exit(*at_exit_arguments)
    _runtime.after_run()


def command_path() -> str:
    return os.path.join(os.path.dirname(sys.executable), "allranks")


def run_command(words: "list[str]", descriptor: int = 2) -> "tuple[int, bytes]":
    """The command in C. Returns how it ended, 0 if well, and what it has written to standard error, or to another descriptor."""
    program = command_path()
    inner, outer = os.pipe()
    with open(inner, "rb") as file:
        try:
            pid = os.posix_spawn(program, [program, *words], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, outer, descriptor)])
        finally:
            os.close(outer)
        said = file.read()
    return os.waitpid(pid, 0)[1], said


def export_pstats(run: str, name: str) -> str:
    """By the command, since what converts has no place in the user's process. Returns what it says of the times."""
    code, said = run_command(["export", run, "-f", "pstats", "-o", name])
    if code:
        os.write(2, said)
        raise OSError
    return os.fsdecode(said).partition(f"wrote {name}: ")[2].strip()


def become_pstats(run: str, ending: str, speaks: bool) -> None:
    """The run file becomes one that pstats reads."""
    part = f"{run}.{os.getpid()}.part"
    estimated = ""
    try:
        estimated = export_pstats(run, part)
        name = free_name(part, os.path.splitext(run)[0], ending)
        os.unlink(part)
        os.unlink(run)
    except OSError:  # the run file stays, and holds more
        name = run
    if os.path.dirname(name) == current_directory():
        name = os.path.basename(name)
    if speaks:
        note(f"recorded in {name}{estimated and ', ' + estimated}; see: allranks report {shell_word(name)}")


def replace_by_pstats(run: str, name: str) -> None:
    """The same under a name that may be taken."""
    try:
        export_pstats(run, name)
        os.unlink(run)
    except OSError:
        complain(f"{name}: cannot be written (what was recorded is in {run})")


def free_name(file: str, stem: str, ending: str) -> str:
    """A further name of the file that no other one has."""
    number = 1
    while True:
        name = stem + (f"-{number}" if number > 1 else "") + ending
        try:
            os.link(file, name)
        except FileExistsError:
            number += 1
        else:
            return name


def current_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it has been removed
        return "."


def processors() -> str:
    """Those that the process may run on, as the kernel lists them: "0-3,8"; "" where it does not say."""
    try:
        numbers = sorted(os.sched_getaffinity(0))
    except OSError:
        return ""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in ranges)


def facts_about(options: Options) -> "dict[str, str]":
    program = {"module": "-m ", "code": "-c "}.get(options.kind, "") + options.target
    n_rules = len(options.values["filter-rule"])
    filters = ", ".join((*options.values["filter-file"], f"{n_rules} rule{'s' if n_rules != 1 else ''}"))
    return {
        "program": program,
        "command": " ".join([program, *options.arguments]),
        "python": sys.version.split()[0],
        "allranks": __version__,
        "directory": current_directory(),
        "processors": processors(),
        **({"filter": filters} if n_rules else {}),
    }


def nothing() -> None:
    pass


def loop() -> None:
    for _ in range(CALIBRATION_CALLS):
        nothing()


def loop_in_c() -> None:
    for _ in range(CALIBRATION_CALLS):
        abs(0)


def calibration_loops() -> "tuple[Callable[[], None], Callable[[], None]]":
    """They call functions that do nothing: how much longer they take when recorded is what recording costs.

    What is in our files is not recorded, but these are: they are of a file of their own.
    """
    names: dict[str, Any] = {"__builtins__": __builtins__, "CALIBRATION_CALLS": CALIBRATION_CALLS}
    for function in (nothing, loop, loop_in_c):
        code = function.__code__.replace(co_filename="<allranks>")
        names[function.__name__] = type(function)(code, names)  # type: ignore[misc]
    return names["loop"], names["loop_in_c"]


def start_recording(options: Options, stem: str, facts: "dict[str, str]") -> None:
    """With `stem` as a child of the process of that name."""
    import atexit

    if _runtime.is_recording():  # as a child of another recording
        return
    directory = current_directory()
    values = options.values
    output = os.path.join(with_braces(directory), values["output"] or default_output(options))
    ending = os.path.splitext(output)[1]
    if ending in PSTATS_ENDINGS:
        values["per-rank"] = True
        output = output[: -len(ending)] + ".allranks"
    else:
        ending = ""
    values["output"] = output
    if values["live-dir"]:
        values["live-dir"] = os.path.join(directory, values["live-dir"])
    facts_encoded = [(key, os.fsencode(value)) for key, value in facts.items()]
    after_run = [os.fsencode(word) for word in options.after_run]
    loops = calibration_loops()
    try:
        _runtime.calibrate(*loops, CALIBRATION_CALLS)
        settings = settings_for_runtime(values)
        settings["per-rank"] = values["per-rank"] or "{rank}" in output.replace("{{", "")
        settings["petsc-log"] = values["petsc-log"] or "pyop2" in values["as"] or wants_summary()
        settings["own-directory"] = os.fsencode(os.path.dirname(os.path.abspath(__file__)))
        settings["stem"] = os.fsencode(stem)
        settings["children"] = None if values["no-children"] else lines_for_children(values)
        engine = _runtime.start(settings)
        _runtime.calibrate(*loops, CALIBRATION_CALLS)
    except Exception as error:  # whatever it is, the program is to run
        if not stem:
            complain(f"{error}; the program runs without being recorded")
        return
    if engine == "trace API" and not values["quiet"] and not stem:
        note("another tool holds the interpreter's cheap hook; recording through the trace API, which costs more")
    if not values["quiet"] and not stem:
        warn_of_file_system()
    for key, value in facts_encoded:
        _runtime.fact(key, value)
    if values["functions-later"]:
        _runtime.functions_off()
    os.register_at_fork(after_in_child=_runtime.forked)
    pstats_file = os.path.join(directory, options.pstats_file) if options.pstats_file else ""
    if pstats_file:
        _runtime.export_if_terminated(os.fsencode(command_path()), "pstats", os.fsencode(pstats_file), False)
    elif options.lprof_file:
        lprof_file = os.path.join(directory, options.lprof_file)
        _runtime.export_if_terminated(os.fsencode(command_path()), "lprof", os.fsencode(lprof_file), True)
    if after_run:
        _runtime.after_run(*after_run)
    global at_exit_arguments
    at_exit_arguments = ("" if stem else ending, pstats_file, values["quiet"])
    atexit.register(at_exit, *at_exit_arguments)


def warn_of_file_system() -> None:
    """Of one that can take the live file away while it is mapped."""
    remote = _runtime.remote_file_system()
    if remote:
        name, directory = remote[0], os.fsdecode(remote[1])
        note(f"{directory}: live files are on {name}, whose failure could end the program by SIGBUS (try: --live-dir in /dev/shm or /tmp)")


def wants_summary() -> bool:
    """Of PyOP2's timers, which have become events of PETSc."""
    try:
        return bool(int(os.environ.get("PYOP2_PRINT_SUMMARY", "0")))
    except ValueError:
        return False


def use_drop_ins(options: Options) -> None:
    if options.values["as"]:
        from allranks.compat import use

        use(options.values["as"])


class PassThrough:
    """The builtin `profile` that kernprof and memory_profiler install. This one leaves functions as they are.

    Scripts use it without importing it: @profile, @profile(precision=4), and with kernprof `with profile:`.
    """

    def __call__(self, function: "Any" = None, *_: object, **options: object) -> "Any":
        return self if function is None else function

    def __enter__(self) -> "PassThrough":
        return self

    def __exit__(self, *error: object) -> None:
        pass


def offer_profile(options: Options) -> None:
    """In every process that is recorded: multiprocessing imports the script once more in its workers."""
    names = sys.modules["builtins"].__dict__
    if "line_profiler" in options.values["as"]:
        from allranks.compat.line_profiler.line_profiler import RecordingProfiler

        names["profile"] = RecordingProfiler()
    elif "profile" not in names:
        names["profile"] = PassThrough()


def check_script(options: Options) -> None:
    if options.target == "-":
        return
    if is_package(options.target):
        if not use_command_instead_of_directory(options):
            options.kind = "package"
        return
    try:
        with open(options.target, "rb"):
            pass
    except OSError as error:
        if not (isinstance(error, FileNotFoundError) and use_command(options)):
            complain(f"{options.target}: {error.strerror}")
            sys.exit(2)


# ---- a command on PATH, such as pip writes for a package ----


def use_command(options: Options) -> bool:
    """SCRIPT as a shell would find it. False: there is none; what cannot be recorded ends us."""
    path = find_command(options.target)
    if not path:
        return False
    interpreter = interpreter_of(path)
    if interpreter is None:
        refuse_command(options, f"{path} is not a Python script", remedy_for(options.target))
    elif not os.path.exists(interpreter):
        how = f"with this one: {sys.executable} -m allranks {path}"
        refuse_command(options, f"{path} is for a Python that is missing, {interpreter}", how)
    elif environment_of(interpreter) != environment_of(sys.executable):
        # Another Python has other packages, maybe another MPI: not to be taken in silence.
        how = f"install allranks there and start {interpreter} -m allranks {path}"
        refuse_command(options, f"{path} belongs to another Python, {interpreter}", how)
    if not options.values["output"] and not path.endswith(".py"):
        options.values["output"] = with_braces(options.target) + ".allranks"  # the name may hold dots, such as pip3.11
    options.target = path
    return True


def use_command_instead_of_directory(options: Options) -> bool:
    """In its own source tree a command has a directory of the same name, which often cannot be run."""
    main_file = os.path.join(options.target, "__main__.py")
    if not os.path.isdir(options.target) or os.path.exists(main_file) or os.path.exists(main_file + "c"):
        return False
    return use_command(options)


def find_command(name: str) -> str:
    """As shutil.which, which would bring a dozen modules along."""
    if "/" in name:
        return ""
    for directory in os.get_exec_path():
        path = os.path.join(directory, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""


def interpreter_of(path: str) -> "str | None":
    """The Python that a script names in its first line, as a path; None: it is no Python script."""
    try:
        with open(path, "rb") as file:
            first, second = (os.fsdecode(file.readline(4096)) for _ in range(2))
    except OSError:  # it may be executed, but not read
        return None
    if not first.startswith("#!"):
        return None
    words = [word for word in first[2:].split() if word != "-S"]  # an option of env
    if words and os.path.basename(words[0]) == "env":
        del words[0]
    interpreter = words[0] if words else ""
    if interpreter == "/bin/sh":
        interpreter = interpreter_of_trampoline(second, path)
    if not os.path.basename(interpreter).startswith("python"):
        return None
    return interpreter if "/" in interpreter else find_command(interpreter) or interpreter


def interpreter_of_trampoline(line: str, path: str) -> str:
    """A path too long for a first line, or with a space in it, is written for the shell as

    '''exec' "/long/path/bin/python" "$0" "$@"

    which is a string to Python. uv can also write one that names the directory of the script itself.
    """
    exec_word, _, rest = line.partition(" ")
    words, found, _ = rest.rpartition(' "$0" "$@"')
    if exec_word != "'''exec'" or not found:
        return ""
    if "$" in words:
        name = words.rpartition("/")[2].strip("\"'")
        return os.path.join(os.path.dirname(os.path.realpath(path)), name)
    return words.strip("\"'")


def environment_of(executable: str) -> str:
    """The same for all names of one Python, different for two virtual environments made of it."""
    directory = os.path.dirname(executable)
    for home in (directory, os.path.dirname(directory)):
        if os.path.exists(os.path.join(home, "pyvenv.cfg")):
            return os.path.realpath(home)
    return os.path.realpath(executable)


def remedy_for(command: str) -> str:
    """For words that people put behind `allranks run` out of habit."""
    if command.startswith("python"):
        return "leave that word out: allranks runs Python itself"
    if command.startswith(("mpi", "prterun", "srun", "jsrun", "aprun")):
        return f"put it in front: {command} ... python -m allranks SCRIPT"
    return "only Python can be recorded"


def refuse_command(options: Options, what: str, remedy: str) -> "NoReturn":
    """The one of this Python may stand behind what was found: pyenv has a shell script for each."""
    own = os.path.join(os.path.dirname(sys.executable), options.target)
    if own not in what and interpreter_of(own):
        remedy = f"this Python has its own: {own}"
    complain(f"{options.target}: {what} ({remedy})")
    sys.exit(2)


def dedented(code: str) -> str:
    """From 3.14 on the code after -c may be indented as a whole."""
    lines = code.split("\n")
    indents = [line[: -len(line.lstrip(" \t"))] for line in lines if line.strip(" \t")]
    first, last = min(indents, default=""), max(indents, default="")  # all others share what these do
    n_margin = next((i for i, character in enumerate(first) if character != last[i]), len(first))
    if sys.version_info < (3, 14) or n_margin == 0:
        return code
    return "\n".join(line[n_margin:] if line.strip(" \t") else "" for line in lines)


def show_source_in_tracebacks(code: str) -> None:
    """From 3.13 on the interpreter does that for the code after -c; later ones of 3.13, and 3.14, for each function in it."""
    if sys.version_info < (3, 13):
        return
    import linecache

    if not hasattr(linecache, "_interactive_cache"):
        linecache._register_code("<string>", code, "<string>")
        return
    # Warnings come when the code is compiled to be run, and so do errors. The module `warnings` would bring others along.
    import _warnings

    filters = sys.modules.get("warnings", _warnings).filters
    filters.insert(0, ("ignore", None, Warning, None, 0))
    try:
        compiled = compile(code, "<string>", "exec", dont_inherit=True)
    except Exception:
        return
    finally:
        del filters[0]
    linecache._register_code(compiled, code, "<string>")


def prepare(options: Options) -> "tuple[Callable[..., bool], tuple[object, ...]]":
    """What to call to run the program: worked out beforehand, so that it is not recorded."""
    if options.kind == "code":
        code = dedented(options.target + "\n")
        show_source_in_tracebacks(code)
        return _runtime.run_code, (os.fsencode(code),)
    if options.kind == "script":
        path = os.path.join(current_directory(), options.target)
        return _runtime.run_file, (b"<stdin>" if options.target == "-" else os.fsencode(path),)

    import runpy

    # They have run once, to start us, and what has run is specialised: a call of exec then takes one
    # level less of the recursion that is left to C functions.
    for function in (runpy._run_module_as_main, runpy._run_code):  # type: ignore[attr-defined]
        function.__code__ = function.__code__.replace()
    run_as_main = runpy._run_module_as_main  # type: ignore[attr-defined]
    what = ("__main__", False) if options.kind == "package" else (options.target,)
    return _runtime.run_module, (run_as_main, *what)


def shell_word(word: str) -> str:
    """Quoted if it has to be, for a command that the user may copy; shlex is not loaded for that."""
    is_plain = word and all(c.isalnum() or c in "_-+=:,./@%" for c in word)
    return word if is_plain else "'" + word.replace("'", "'\\''") + "'"


def showable(text: str) -> str:
    """Without characters that a terminal would interpret: paths and arguments are others' words."""
    return "".join(each if each.isprintable() else "?" for each in text)


def note(text: str) -> None:
    if sys.stderr is None:  # print would take standard output, which is the program's
        return
    try:
        print(f"allranks: {showable(text)}", file=sys.stderr, flush=True)
    except (OSError, ValueError):  # there is no way to report it, and the program is to run
        pass


def complain(text: str) -> None:
    note(f"error: {text}")


def answer(text: str) -> None:
    """To standard output, several lines of it; ends the process if it cannot be written.

    Not through sys.stdout, which would try to write what is left once more at its end, and say so in its own way.
    """
    rest = "".join(each if each == "\n" else showable(each) for each in text).encode()
    try:
        while rest:
            rest = rest[os.write(1, rest) :]
    except BrokenPipeError:  # the reader has seen enough
        sys.exit(2)
    except OSError as error:
        complain(f"standard output: {error.strerror} (what was printed is not complete)")
        sys.exit(2)


def run_plainly(options: Options) -> "NoReturn":
    """Without the runtime, which would look for frames where this Python does not keep them."""
    import subprocess
    import sysconfig

    reason = trouble if "glibc" in trouble else f"{trouble} (install allranks again, with this Python)"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        reason = "free-threaded Python is not supported yet (use a build with the GIL)"
    complain(f"{reason}; the program runs without being recorded")
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    if getattr(sys.stdout, "write_through", False):
        flags.append("-u")
    first = {"module": "-m", "code": "-c"}.get(options.kind, "--")
    os.execv(sys.executable, [sys.executable, *flags, first, options.target, *options.arguments])


def end_in_failure(options: Options) -> None:
    """Ends the process as the interpreter would have; what went wrong has been printed."""
    kind = getattr(sys, "last_type", None)
    if getattr(sys, "last_traceback", None) is None:
        _runtime.cancel()  # it could not be compiled: nothing of it ran
    if sys.flags.inspect:
        return  # with -i a prompt follows
    if not (isinstance(kind, type) and issubclass(kind, KeyboardInterrupt)):
        sys.exit(1)
    _runtime.expect_sigint()
    # The interpreter then ends by the signal itself, which shells and launchers look for. For scripts
    # and code it has noted so already, for modules it has to see the exception.
    if options.kind in ("module", "package"):
        sys.excepthook = lambda *_: None
        raise KeyboardInterrupt


def run(argv: "list[str]") -> None:
    try:
        options = parse(argv)
        if "scorep" in options.values["as"]:
            from allranks.compat.scorep._command import prepare as prepare_scorep

            prepare_scorep(options)
        check_values(options.values)
        choose_hot_functions(options)
    except UsageError as error:
        complain(str(error))
        sys.exit(2)
    run_with(options)


def choose_hot_functions(options: Options) -> None:
    if any(each == "auto" or each.startswith("auto:") for each in options.values["lines"]):
        from allranks._hot_functions import replace_auto

        replace_auto(options)


def check_values(values: "dict[str, Any]") -> None:
    read_filters(values)
    check_trace(values)
    check_counters(values)


def run_with(options: Options) -> None:
    if options.kind == "script":
        check_script(options)
    if trouble:
        run_plainly(options)
    become_main(options)
    function, arguments = prepare(options)
    use_drop_ins(options)
    offer_profile(options)
    if options.before:
        options.before()
    if options.is_recorded:
        start_recording(options, "", {**facts_about(options), **options.facts})
    if not function(*arguments):
        end_in_failure(options)


def exec_command(argv: "list[str]") -> "NoReturn":
    program = command_path()
    if not os.access(program, os.X_OK):
        complain(f"{program} is missing (install allranks again)")
        sys.exit(2)
    os.execv(program, [program, *argv])


def main() -> None:
    argv = sys.argv[1:]
    if argv and argv[0] == "run":
        argv = argv[1:]
    elif argv and argv[0] == "install-shims" and not os.path.exists(argv[0]):
        from allranks.compat.shims import main as install_shims

        sys.exit(install_shims(argv[1:]))
    elif argv and argv[0] in COMMANDS and not os.path.exists(argv[0]):
        exec_command(argv)
    if argv and argv[0] in ("-h", "--help"):
        answer(usage())
    elif argv and argv[0] == "--version":
        answer(f"allranks {__version__}\n")
    else:
        run(argv)
