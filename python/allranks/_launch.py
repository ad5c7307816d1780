# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program as the interpreter itself would, and records it.

Everything here happens in the user's process before the first line of the program, so it imports next to nothing, and what
it leaves behind (sys.argv, sys.path, __main__, the stack) is what the program finds without allranks.
"""

from __future__ import annotations

import os
import sys

from allranks import __version__

trouble = ""  # why nothing can be recorded
try:
    from allranks import _runtime
except ImportError as error:  # not built for this Python
    trouble = str(error)

TYPE_CHECKING = False  # typing itself would bring modules along that the program may have its own of
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

USAGE = """\
usage: allranks run [options] [--] SCRIPT [arguments]
       allranks run [options] -m MODULE [arguments]
       allranks run [options] -c CODE [arguments]
       python -m allranks ...                  the same

Record a Python program, alone or on every rank of an MPI job:

    mpiexec -n 64 python -m allranks heat.py --steps 1000
    allranks report heat.allranks

options:
  -o, --output FILE    the file to write (default: SCRIPT.allranks in the
                       current directory); an existing one is not overwritten,
                       FILE-2 is written instead
  -q, --quiet          no closing line on standard error
      --live-dir DIR   where each process keeps its live file while it runs
                       (default: $ALLRANKS_LIVE_DIR, or /dev/shm/allranks-UID,
                       or the same below $TMPDIR or /tmp). Best in memory;
                       what was recorded by a killed process stays there
      --max-size SIZE  limit of a live file, such as 64M (default: 256M); when
                       it is full, new call paths count for their caller
      --version        show the version
  -h, --help           show this help
"""

COMMANDS = ("report", "info", "export", "merge")


class UsageError(Exception):
    """A command line that cannot be understood; the text says why."""


class Options:
    """What `allranks run` was asked to do."""

    output = ""
    quiet = False
    live_dir = ""
    max_bytes = 256 << 20
    kind = "script"  # or "module", "code", "package": a directory or archive
    target = ""
    arguments: list[str]


def parse_size(text: str) -> int:
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper(), 1)
    digits = text[:-1] if factor > 1 else text
    if not digits.isdigit() or int(digits) * factor < 1 << 20:
        raise UsageError(f"--max-size {text}: not a size of at least 1M, such as 64M or 1G")
    return int(digits) * factor


def set_option(options: Options, name: str, value: str) -> None:
    if name in ("-o", "--output"):
        options.output = value
    elif name == "--live-dir":
        options.live_dir = value
    else:
        options.max_bytes = parse_size(value)


def parse(argv: list[str]) -> Options:
    options = Options()
    options.live_dir = os.environ.get("ALLRANKS_LIVE_DIR", "")
    rest = list(argv)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        name, equals, value = rest.pop(0).partition("=")
        if name == "--":
            break
        if name in ("-m", "-c"):
            if not rest:
                raise UsageError(f"{name} needs {'a module' if name == '-m' else 'code'}")
            options.kind = "module" if name == "-m" else "code"
            break
        if name in ("-q", "--quiet"):
            options.quiet = True
        elif name in ("-o", "--output", "--live-dir", "--max-size"):
            if not equals:
                if not rest:
                    raise UsageError(f"{name} needs a value")
                value = rest.pop(0)
            set_option(options, name, value)
        else:
            raise UsageError(f"unknown option {name} (options of the program come after it)")
    if not rest:
        raise UsageError("no program to run (try: allranks run --help)")
    options.target = rest[0]
    options.arguments = rest[1:]
    return options


def default_output(options: Options) -> str:
    if options.kind == "code":
        stem = "command"
    elif options.kind == "module":
        stem = options.target
    elif options.target == "-":
        stem = "stdin"
    else:
        stem = os.path.splitext(os.path.basename(options.target.rstrip("/")))[0]
    return stem + ".allranks"


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
    elif not has_safe_path() and options.kind != "module":
        # `python -m` has put the current directory there.
        in_file = options.kind == "script" and options.target != "-"
        sys.path[0] = os.path.dirname(os.path.realpath(options.target)) if in_file else ""


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


def at_exit() -> None:
    """The last of Python's exit functions: the program's own, registered later, have run."""
    for name in ("mpi4py", "numpy", "petsc4py", "h5py"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            _runtime.fact(name, os.fsencode(version))
    _runtime.finish()


def current_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it has been removed
        return "."


def facts_about(options: Options) -> dict[str, str]:
    program = {"module": "-m ", "code": "-c "}.get(options.kind, "") + options.target
    return {
        "program": program,
        "command": " ".join([program, *options.arguments]),
        "python": sys.version.split()[0],
        "allranks": __version__,
        "directory": current_directory(),
    }


def start_recording(options: Options) -> None:
    import atexit

    directory = current_directory()
    output = os.path.join(directory, options.output or default_output(options))
    live_dir = os.path.join(directory, options.live_dir) if options.live_dir else ""
    facts = [(key, os.fsencode(value)) for key, value in facts_about(options).items()]
    try:
        _runtime.start(
            os.fsencode(output),
            os.fsencode(live_dir),
            options.max_bytes,
            options.quiet,
            os.fsencode(os.path.dirname(os.path.abspath(__file__))),
        )
    except Exception as error:  # whatever it is, the program is to run
        complain(f"{error}; the program runs without being recorded")
        return
    for key, value in facts:
        _runtime.fact(key, value)
    atexit.register(at_exit)


def check_script(options: Options) -> None:
    if options.target == "-":
        return
    if is_package(options.target):
        options.kind = "package"
        return
    try:
        with open(options.target, "rb"):
            pass
    except OSError as error:
        complain(f"{options.target}: {error.strerror}")
        sys.exit(2)


def dedented(code: str) -> str:
    """From 3.14 on the code after -c may be indented as a whole."""
    lines = code.split("\n")
    indents = [line[: -len(line.lstrip(" \t"))] for line in lines if line.strip(" \t")]
    n_margin = len(os.path.commonprefix(indents))  # noqa: RUF071 (character by character is right)
    if sys.version_info < (3, 14) or n_margin == 0:
        return code
    return "\n".join(line[n_margin:] if line.strip(" \t") else "" for line in lines)


def show_source_in_tracebacks(code: str) -> None:
    """From 3.13 on the interpreter does that for the code after -c, from 3.14 on for each function in it."""
    if sys.version_info < (3, 13):
        return
    import linecache

    if sys.version_info < (3, 14):
        linecache._register_code("<string>", code, "<string>")
        return
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they come when the code is compiled to be run
        try:
            compiled = compile(code, "<string>", "exec", dont_inherit=True)
        except Exception:  # and so do errors
            return
    linecache._register_code(compiled, code, "<string>")


def prepare(options: Options) -> tuple[Callable[..., bool], tuple[object, ...]]:
    """What to call to run the program: worked out beforehand, so that it is not recorded."""
    if options.kind == "code":
        code = dedented(options.target + "\n")
        show_source_in_tracebacks(code)
        return _runtime.run_code, (os.fsencode(code),)
    if options.kind == "script":
        path = os.path.join(current_directory(), options.target)
        return _runtime.run_file, (b"<stdin>" if options.target == "-" else os.fsencode(path),)

    import runpy

    run_as_main = runpy._run_module_as_main  # type: ignore[attr-defined]
    what = ("__main__", False) if options.kind == "package" else (options.target,)
    return _runtime.run_module, (run_as_main, *what)


def complain(text: str) -> None:
    print(f"allranks: error: {text}", file=sys.stderr, flush=True)


def run_plainly(options: Options) -> NoReturn:
    """Without the runtime, which would look for frames where this Python does not keep them."""
    import subprocess
    import sysconfig

    reason = f"{trouble} (install allranks again, with this Python)"
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
    if not (isinstance(kind, type) and issubclass(kind, KeyboardInterrupt)):
        sys.exit(1)
    # The interpreter then ends by the signal itself, which shells and launchers look for. For scripts
    # and code it has noted so already, for modules it has to see the exception.
    if options.kind in ("module", "package"):
        sys.excepthook = lambda *_: None
        raise KeyboardInterrupt


def run(argv: list[str]) -> None:
    try:
        options = parse(argv)
    except UsageError as error:
        complain(str(error))
        sys.exit(2)
    if options.kind == "script":
        check_script(options)
    if trouble:
        run_plainly(options)
    become_main(options)
    function, arguments = prepare(options)
    start_recording(options)
    if not function(*arguments):
        end_in_failure(options)


def exec_command(argv: list[str]) -> NoReturn:
    program = os.path.join(os.path.dirname(sys.executable), "allranks")
    if not os.access(program, os.X_OK):
        complain(f"{program} is missing (install allranks again)")
        sys.exit(2)
    os.execv(program, [program, *argv])


def main() -> None:
    argv = sys.argv[1:]
    if argv and argv[0] == "run":
        argv = argv[1:]
    elif argv and argv[0] in COMMANDS and not os.path.exists(argv[0]):
        exec_command(argv)
    if argv and argv[0] in ("-h", "--help"):
        sys.stdout.write(USAGE)
    elif argv and argv[0] == "--version":
        print("allranks", __version__)
    else:
        run(argv)
